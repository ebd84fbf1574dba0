/**
 * A headless person whose browser first writes down what it was started with:
 *
 *     node telling-browser.ts FILE URL
 *
 * FILE gets its arguments and environment as JSON, for a test that looks for secrets in them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { signInAt } from '../../../demo/user-agent.ts';

const [file = '', url = ''] = process.argv.slice(2);

writeFileSync(file, JSON.stringify({ argv: process.argv, env: process.env }));
await signInAt(url, { account: 'alice', ca: readFileSync(process.env['KEYTURN_DEMO_CA'] ?? '', 'utf8') });
