/**
 * `npm run docs`: writes the pages that state what the program states: docs/reference/cli.md, of the commands' statements.
 *
 * Invariant: a page is a function of the source; test/docs/cli.test.ts fails where it is older.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { topics } from '../src/cli/main.ts';
import { commandPage } from './packaging/command-page.ts';
import { root } from './packaging/program.ts';

writeFileSync(path.join(root, 'docs', 'reference', 'cli.md'), commandPage(await topics()));
