// Runs the tests inside a private D-Bus session with a real, throw-away keyring, and ends with one
// plain line: how many passed, failed and were skipped. Arguments go to vitest. With --soak, only the
// tests that can run longer do, for their full time.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { unproven } from './conformance.mjs';
import { soakTable } from './soak-table.mjs';

const root = path.join(import.meta.dirname, '..');

/**
 * The temporary folder of the run, which is removed with all that its tests left. A short name, since the paths of sockets
 * are; other users pass through it, since some tests start programs as others.
 */
const folder = mkdtempSync(path.join(temporaryFolder(), 'kt-'));
chmodSync(folder, 0o755);

const args = process.argv.slice(2);
const isSoak = args.includes('--soak');

/** Where the soak's runs write their numbers (test/soak/report.ts). */
const soakReport = path.join(folder, 'soak.jsonl');

/** Where Node keeps what it compiled: the tests start hundreds of processes, and each would compile the same again. */
const compiled = path.join(folder, 'compiled');

/** What vitest is called with, a list for each run: the files that read KEYTURN_SOAK, and the long forms. */
const soakRuns = [
  [
    'test/broker/tokens/day-of-suspends.test.ts',
    'test/e2e/broker/shared-home.test.ts',
    'test/e2e/broker/short-tokens.test.ts',
  ],
  ['--config', path.join('test', 'soak', 'vitest.config.ts')],
];

/**
 * Where the tests make their homes: in memory if there is room, since they make thousands of small ones. On a disk
 * test/rules took a fifth more CPU time. Whoever chose another temporary folder than /tmp keeps it.
 */
function temporaryFolder() {
  const memory = '/dev/shm';
  return tmpdir() === '/tmp' && isUsable(memory) ? memory : tmpdir();
}

/** Whether a folder has room, and runs a program: a container's own memory has little, and often runs none. */
function isUsable(memory) {
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (Math.min(bavail * bsize, process.availableMemory()) < 2 ** 30) return false;
    const trial = mkdtempSync(path.join(memory, 'keyturn-trial-'));
    try {
      const program = path.join(trial, 'program');
      writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
      return spawnSync(program).status === 0;
    } finally {
      rmSync(trial, { recursive: true });
    }
  } catch {
    return false;
  }
}

/** Runs vitest beside a keyring; answers its exit status and its own report. Throws where vitest ended without one. */
function run(extra, number) {
  const report = path.join(folder, `report-${number}.json`);
  const vitest = [
    path.join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    `--reporter=${path.join(root, 'scripts', 'failures-at-once.mjs')}`,
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...extra,
  ];
  const withKeyring = path.join(root, 'scripts', 'with-keyring.sh');
  const { status, signal } = spawnSync('sh', [withKeyring, process.execPath, ...vitest], {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      TMPDIR: folder,
      NODE_COMPILE_CACHE: compiled,
      ...(isSoak ? { KEYTURN_SOAK: '1', KEYTURN_SOAK_REPORT: soakReport } : {}),
    },
  });
  if (!existsSync(report)) throw new BrokenOff(signal ?? `exit ${status}`);
  return { status, results: JSON.parse(readFileSync(report, 'utf8')) };
}

/** The run was interrupted, or vitest could not start. */
class BrokenOff extends Error {}

/** A file that could not even be loaded has no test to count, and is a failure all the same. */
function failuresIn({ numFailedTests, testResults }) {
  const broken = testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
  return numFailedTests + broken.length;
}

/** The ten files whose tests took longest, so that a slow one is seen early. */
function slowest(testResults) {
  return testResults
    .map(({ name, startTime, endTime }) => ({ name: path.relative(root, name), time: endTime - startTime }))
    .toSorted((one, other) => other.time - one.time)
    .slice(0, 10)
    .map(({ name, time }) => `${(time / 1000).toFixed(1).padStart(7)} s  ${name}\n`)
    .join('');
}

// Ctrl-C reaches the tests too. This process only waits for them, so that it can remove its folder.
process.on('SIGINT', () => undefined);

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

try {
  const runs = (isSoak ? soakRuns : [args]).map(run);
  // A part of the tests can’t tell whether each rule has a test that passes.
  const claims = args.length === 0 ? runs.flatMap(({ results }) => unproven(root, results)) : [];
  for (const claim of claims) {
    process.stdout.write(`${claim}\n`);
  }
  if (isSoak) process.stdout.write(soakTable(soakReport, new Date().toISOString().slice(0, 10)));
  if (args.length === 0) process.stdout.write(`The slowest files:\n${slowest(runs[0].results.testResults)}`);
  const passed = sum(runs.map(({ results }) => results.numPassedTests));
  const failed = sum(runs.map(({ results }) => failuresIn(results))) + claims.length;
  const skipped = sum(runs.map(({ results }) => results.numPendingTests));
  process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  process.exitCode = failed > 0 || runs.some(({ status }) => status !== 0) ? 1 : 0;
} catch (error) {
  if (!(error instanceof BrokenOff)) throw error;
  process.stdout.write(`the run broke off (${error.message}): nothing was counted\n`);
  process.exitCode = 1;
} finally {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  } catch (error) {
    // What a broken test left may resist. That says nothing of the others.
    process.stderr.write(`${folder} could not be removed: ${error.code}\n`);
  }
}
