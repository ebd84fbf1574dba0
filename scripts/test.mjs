// Runs the tests inside a private D-Bus session with a real, throw-away keyring, and ends with one
// plain line: how many passed, failed and were skipped. Arguments go to vitest. With --soak, only the
// tests that can run longer do, for their full time.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { unproven } from './conformance.mjs';

const root = path.join(import.meta.dirname, '..');
const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-test-'));
const report = path.join(folder, 'report.json');

const args = process.argv.slice(2);
const isSoak = args.includes('--soak');

/** The files that read KEYTURN_SOAK. */
const soakTests = ['test/e2e/shared-home.test.ts'];

const vitest = [
  path.join(root, 'node_modules', 'vitest', 'vitest.mjs'),
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${report}`,
  ...args.filter((arg) => arg !== '--soak'),
  ...(isSoak ? soakTests : []),
];

try {
  const { status } = spawnSync(
    'sh',
    [path.join(root, 'scripts', 'with-keyring.sh'), process.execPath, ...vitest],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...(isSoak ? { KEYTURN_SOAK: '1' } : {}) },
    },
  );
  const results = JSON.parse(readFileSync(report, 'utf8'));
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = results;
  // A file that could not even be loaded has no test to count, and is a failure all the same.
  const broken = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
  // The rule table stands only on tests that ran and passed; a part of the tests can't tell.
  const claims = args.length === 0 ? unproven(root, results) : [];
  for (const claim of claims)
    process.stdout.write(`docs/conformance.md names a proof that did not pass: ${claim}\n`);
  const failed = numFailedTests + broken.length + claims.length;
  process.stdout.write(`${numPassedTests} passed, ${failed} failed, ${numPendingTests} skipped\n`);
  process.exitCode = status !== 0 || claims.length > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
