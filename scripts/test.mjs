// Runs the tests inside a private D-Bus session with a real, throw-away keyring, and ends with one
// plain line: how many passed, failed and were skipped. Arguments go to vitest. With --soak, only the
// tests that can run longer do, for their full time.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

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
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  // A file that could not even be loaded has no test to count, and is a failure all the same.
  const broken = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
  process.stdout.write(
    `${numPassedTests} passed, ${numFailedTests + broken.length} failed, ${numPendingTests} skipped\n`,
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
