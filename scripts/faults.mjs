// Shows that the tests notice mistakes: each patch of test/faults breaks one rule, and the test file that its first line
// names must fail then.
//   npm run test:faults [-- NAME...]
//
// The patches are applied to a copy of the project, one at a time, and taken back. They have no lines of context, so
// that they fit as long as the lines that they change exist.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const faults = path.join(root, 'test', 'faults');
const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-faults-'));
const copy = path.join(folder, 'copy');

function makeCopy() {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const name of listed.stdout.split('\0').filter((one) => one && existsSync(path.join(root, one))))
    cpSync(path.join(root, name), path.join(copy, name));
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'), 'junction');
}

function isApplied(patch) {
  return spawnSync('git', ['apply', '--unidiff-zero', path.join(faults, patch)], { cwd: copy }).status === 0;
}

/** Not by the patch in reverse: without context, a line that it took away would come back at the line of that number. */
function takeBack(patch) {
  for (const [, name = ''] of readFileSync(path.join(faults, patch), 'utf8').matchAll(/^\+\+\+ b\/(.+)$/gm))
    cpSync(path.join(root, name), path.join(copy, name));
}

/** How many tests of a file fail. Undefined: none ran. */
function failures(test) {
  const report = path.join(folder, 'report.json');
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const config = ['--config', path.join('test', 'mutation', 'vitest.config.ts')];
  const output = ['--reporter=json', `--outputFile=${report}`, '--bail=1'];
  rmSync(report, { force: true });
  spawnSync(process.execPath, [vitest, 'run', ...config, ...output], {
    cwd: copy,
    stdio: 'ignore',
    env: { ...process.env, MUTATE_TESTS: test },
  });
  if (!existsSync(report)) return undefined;
  const { numTotalTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
  return numTotalTests > 0 ? numFailedTests : undefined;
}

/** Whether a test file passes without a fault. Else its failure would show nothing. */
const passes = new Map();

/** What is wrong with a fault. Undefined: its test noticed it. */
function problem(patch) {
  const [test] = readFileSync(path.join(faults, patch), 'utf8').split('\n', 1);
  if (!passes.has(test)) passes.set(test, failures(test) === 0);
  if (!passes.get(test)) return `${test} fails without a fault`;
  if (!isApplied(patch)) return 'the patch no longer fits the code';
  const failed = failures(test);
  takeBack(patch);
  if (failed === undefined) return `no test of ${test} ran`;
  return failed === 0 ? `no test of ${test} failed` : undefined;
}

const named = process.argv.slice(2);
const patches = readdirSync(faults).filter(
  (name) => name.endsWith('.patch') && (named.length === 0 || named.includes(path.parse(name).name)),
);
try {
  makeCopy();
  let caught = 0;
  for (const patch of patches) {
    const found = problem(patch);
    if (found === undefined) caught += 1;
    process.stdout.write(`${path.parse(patch).name}: ${found ?? 'caught'}\n`);
  }
  process.stdout.write(`${caught} of ${patches.length} faults caught\n`);
  process.exitCode = caught === patches.length && caught > 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
