/**
 * A browser that opens nothing and writes down what it should have opened, a line each:
 *
 *     node noting-browser.ts FILE URL
 *
 * So that a test counts the tabs, and signs in at one when its person would.
 */
import { appendFileSync } from 'node:fs';

const [file = '', url = ''] = process.argv.slice(2);

appendFileSync(file, `${url}\n`);
