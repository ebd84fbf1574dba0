// The tables of proofs, docs/conformance.md, docs/reliability.md and the state files of SECURITY.md, against a
// run of the tests: which proofs they name did not pass.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const proofPattern = /(test\/[\w./-]+\.test\.ts) › (.*?)(?=<br>| \||$)/g;

/** Pages whose tables name proofs. */
const pages = ['docs/conformance.md', 'docs/reliability.md', 'SECURITY.md'];

/** Every `test file › test title` that the table names. */
export function proofsIn(markdown) {
  const rows = markdown.split('\n').filter((line) => line.startsWith('|'));
  return rows.flatMap((row) =>
    [...row.matchAll(proofPattern)].map(([, file, title]) => ({
      file,
      // A pipe in a title is escaped in a table's cell.
      title: title.trim().replaceAll(String.raw`\|`, '|'),
    })),
  );
}

/** The named proofs that vitest's JSON report does not show as passed, each with its page. */
export function unproven(root, report) {
  const passed = new Set(
    report.testResults.flatMap((file) =>
      file.assertionResults
        .filter(({ status }) => status === 'passed')
        .map(({ title }) => `${path.relative(root, file.name)} › ${title.replace(/\s+/g, ' ').trim()}`),
    ),
  );
  return pages.flatMap((page) =>
    proofsIn(readFileSync(path.join(root, page), 'utf8'))
      .map(({ file, title }) => `${file} › ${title}`)
      .filter((proof) => !passed.has(proof))
      .map((proof) => `${page} names a proof that did not pass: ${proof}`),
  );
}
