// The tables of proofs, docs/conformance.md, docs/reliability.md and the state files of SECURITY.md, against a
// run of the tests: which proofs they name did not pass, and which fit more than one test.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const proofPattern = /(test\/[\w./-]+\.test\.ts) › (.*?)(?=<br>| \||$)/g;

/** Pages whose tables name proofs. */
const pages = ['docs/conformance.md', 'docs/reliability.md', 'SECURITY.md'];

/**
 * Every proof that the table names: `test file › test title`, or `test file › describe › test title` where the
 * title alone fits several tests.
 */
export function proofsIn(markdown) {
  const rows = markdown.split('\n').filter((line) => line.startsWith('|'));
  return rows.flatMap((row) =>
    [...row.matchAll(proofPattern)].map(([, file, rest]) => {
      // A pipe in a title is escaped in a table's cell.
      const names = rest
        .trim()
        .replaceAll(String.raw`\|`, '|')
        .split(' › ');
      return { file, describes: names.slice(0, -1), title: names.at(-1) };
    }),
  );
}

/** A name as the pages write it: spaces alone between words. */
const plain = (name) => name.replace(/\s+/g, ' ').trim();

/** Each test of vitest's JSON report: its file, and its names from the outer describe to the title. */
function testsIn(root, report) {
  return report.testResults.flatMap((file) =>
    file.assertionResults.map(({ ancestorTitles, title, status }) => ({
      file: path.relative(root, file.name),
      names: [...ancestorTitles, title].map(plain),
      passed: status === 'passed',
    })),
  );
}

const written = ({ file, names }) => [file, ...names].join(' › ');

/** The names that two tests of one describe share: one of them could go without anybody's notice. */
function sharedNames(tests) {
  const shared = [...Map.groupBy(tests, written)].filter(([, same]) => same.length > 1);
  return shared.map(([name]) => `two tests have one name: ${name}`);
}

/** What is wrong with a proof; undefined where exactly one test has its names and passed. */
function fault({ file, describes, title }, tests) {
  const names = [...describes, title];
  const ofFile = tests.get(file) ?? [];
  const fitting = ofFile.filter((test) =>
    names.every((name, at) => test.names.at(at - names.length) === name),
  );
  const proof = written({ file, names });
  if (fitting.length === 0) return `a proof that no test has: ${proof}`;
  if (fitting.length > 1)
    return `a proof that fits several tests, so write their describe before the title: ${proof}`;
  return fitting[0].passed ? undefined : `a proof that did not pass: ${proof}`;
}

/** What vitest's JSON report does not bear out: the pages' proofs, each with its page, and names that two tests share. */
export function unproven(root, report) {
  const tests = testsIn(root, report);
  const byFile = Map.groupBy(tests, ({ file }) => file);
  const faults = pages.flatMap((page) =>
    proofsIn(readFileSync(path.join(root, page), 'utf8'))
      .map((proof) => fault(proof, byFile))
      .filter((text) => text !== undefined)
      .map((text) => `${page} names ${text}`),
  );
  return [...faults, ...sharedNames(tests)];
}
