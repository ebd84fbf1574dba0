// Checks the workflows of .github/workflows by GitHub's own parser: their form and their expressions. Each
// action must be pinned by a commit. One line for each fault, and exit code 1 if there is one.
import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import process from 'node:process';

// The package imports its tables as a bundler reads them.
registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context),
});
const { validate } = await import('@actions/languageservice');
const { TextDocument } = await import('vscode-languageserver-textdocument');

/** A name of a version may be moved to another commit. */
const pinned = /@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

let checked = 0;

/** What is wrong with a workflow, by line. */
export async function faultsOf(text, name = 'workflow.yml') {
  // The service remembers what it read of an address.
  checked += 1;
  const found = await validate(TextDocument.create(`file:///${checked}/${name}`, 'yaml', 1, text));
  const unpinned = text
    .split('\n')
    .flatMap((line, at) => (/^\s*(?:- )?uses:/.test(line) && !pinned.test(line) ? [at] : []));
  return [
    ...found.map(({ range, message }) => {
      const said = typeof message === 'string' ? message : message.value;
      return `${name}:${range.start.line + 1}: ${said}`;
    }),
    ...unpinned.map((at) => `${name}:${at + 1}: pin the action by its commit, and name the version after it`),
  ];
}

if (process.argv[1] === import.meta.filename) {
  const folder = path.join(import.meta.dirname, '..', '.github', 'workflows');
  for (const name of readdirSync(folder)) {
    for (const fault of await faultsOf(readFileSync(path.join(folder, name), 'utf8'), name)) {
      process.stderr.write(`${fault}\n`);
      process.exitCode = 1;
    }
  }
}
