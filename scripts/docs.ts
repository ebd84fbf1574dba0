/**
 * `npm run docs`: writes the pages that state what the program states (scripts/packaging/reference-pages.ts).
 *
 * Invariant: test/docs/cli.test.ts fails where one is older.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './packaging/program.ts';
import { referencePages } from './packaging/reference-pages.ts';

for (const [name, text] of Object.entries(await referencePages())) writeFileSync(path.join(root, name), text);
