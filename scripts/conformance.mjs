// The rules of dev/conformance.json, the invariants of dev/internals.md and the files of dev/state-files.md, against a
// run of the tests. A test names the rules that it proves at the start of its title, or of its describe's: `D-3 M-1: asks …`.
import { readFileSync } from 'node:fs';
import path from 'node:path';

/** An id: of a rule, as in `D-3`, or the name of a file of the home, as in `apps/NAME.key`. */
const id = String.raw`(?:[A-Z]+-\d+|[\w/-]+\.[a-z]+)`;
const rowStart = new RegExp(`^\\| \`?(${id})\`?[ ,]`, 'gm');
const nameStart = new RegExp(`^(${id}(?: ${id})*): `);

/** The ids of all rules: those of the data, then those that each row of a page's table starts with. */
export function rulesOf(root) {
  const read = (file) => readFileSync(path.join(root, 'dev', file), 'utf8');
  const inPages = ['internals.md', 'state-files.md'].flatMap((page) => [...read(page).matchAll(rowStart)]);
  return [
    ...JSON.parse(read('conformance.json')).rules.map((rule) => rule.id),
    ...inPages.map(([, rule]) => rule),
  ];
}

/** The rules that a test's names claim to prove. */
const claimed = (names) => names.flatMap((name) => nameStart.exec(name)?.[1].split(' ') ?? []);

/** What vitest's JSON report of a whole run does not bear out: rules without a test that passed, and ids that are no rule's. */
export function unproven(root, report) {
  const rules = new Set(rulesOf(root));
  const tests = report.testResults.flatMap((file) =>
    file.assertionResults.map(({ ancestorTitles, title, status }) => ({
      name: [path.relative(root, file.name), ...ancestorTitles, title].join(' › '),
      ids: claimed([...ancestorTitles, title]),
      passed: status === 'passed',
    })),
  );
  const proven = new Set(tests.filter(({ passed }) => passed).flatMap(({ ids }) => ids));
  return [
    ...[...rules].filter((rule) => !proven.has(rule)).map((rule) => `no test that proves ${rule} passed`),
    ...tests.flatMap(({ name, ids }) =>
      ids.filter((one) => !rules.has(one)).map((one) => `unknown rule ${one}: ${name}`),
    ),
  ];
}
