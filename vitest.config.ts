/**
 * How the tests run: all on Node, three files at a time.
 *
 * Invariants: only the tests that start the built program build it first, so that a unit test needs
 * no compiler run. What a test replaces (a spy, a timer, a variable of the environment) it puts back: the files
 * of a project share three processes.
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { whyLinux } from './test/support/needs-linux.ts';

/**
 * Milliseconds. A test with real processes starts up to twenty of them, up to ten seconds in all; a busy machine needs
 * twenty times that. So only a hang meets it, and no test sets a shorter one.
 */
const testTimeout = 240_000;

/** Tests of the program as it is delivered: processes, sockets, the windows' page, the packed tarball. */
const processTests = [
  'test/field/**/*.test.ts',
  'test/e2e/**/*.test.ts',
  'test/cli/transcripts.test.ts',
  'test/renderer/**/*.test.ts',
  'test/package.test.ts',
];

/** The desktop host, and what a person does with it. */
const desktopTests = ['test/electron/**/*.test.ts', 'test/journeys/**/*.test.ts'];

/** How long `expect.poll` looks. Its own second is less than a busy machine may need for one page, and only a hang meets this one. */
const pollTimeout = 120_000;

const common = {
  environment: 'node',
  pool: 'forks',
  testTimeout,
  hookTimeout: testTimeout,
  expect: { poll: { timeout: pollTimeout } },
  setupFiles: 'test/support/new-file.ts',
  // Node itself loads the modules, as it does outside of tests, and keeps what it compiled. No test needs Vite's
  // transforms or mocked modules; with them 3,000 tests took 8 % more CPU time.
  experimental: { viteModuleRunner: false, nodeLoader: false },
} as const;

/** Short files whose tests take one to two minutes. */
const longTests = [
  'cli/transcripts',
  'renderer/every-state',
  'e2e/delivery/bench',
  'e2e/delivery/demo',
  'package',
].map((name) => path.join(import.meta.dirname, 'test', `${name}.test.ts`));

/** Vitest runs one project after another, and the largest files first. A long test at the end would run alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => longTests.includes(moduleId);
    const ofProjects = Object.values(Object.groupBy(sorted, ({ project }) => project.name));
    return ofProjects.flatMap((some = []) => [
      ...some.filter(isLong),
      ...some.filter((file) => !isLong(file)),
    ]);
  }
}

/** Files that this system leaves out; says why. */
function leftOut(): string[] {
  if (process.platform === 'linux') return [];
  return globSync('test/**/*.test.ts', { cwd: import.meta.dirname })
    .filter((file) => {
      const reason = whyLinux(path.join(import.meta.dirname, file), process.platform);
      if (reason !== undefined) process.stderr.write(`skipped: ${file} needs ${reason}\n`);
      return reason !== undefined;
    })
    .map((file) => file.replaceAll('\\', '/'));
}

export default defineConfig({
  test: {
    watch: false,
    reporters: ['default'],
    // More than the two cores of the machines that run this, since a file waits for processes and windows. With four
    // the tests of the desktop took a quarter longer there, and more CPU time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...common,
          name: 'modules',
          // One process for many files: no module of src/ keeps state of its own, and to load everything anew
          // for each file takes longer than most files' tests.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...processTests, ...desktopTests, ...leftOut()],
        },
      },
      {
        // The app's main process over a double of Electron; its windows are pages of a real Chromium.
        test: {
          ...common,
          name: 'desktop',
          isolate: false,
          include: desktopTests,
          globalSetup: ['test/support/built.ts', 'test/support/browsers/windows-chromium.ts'],
          execArgv: [`--import=${path.join(import.meta.dirname, 'test/support/electron/electron-hook.mjs')}`],
        },
      },
      {
        test: {
          ...common,
          name: 'processes',
          isolate: false,
          include: processTests,
          globalSetup: ['test/support/built.ts', 'test/support/browsers/windows-chromium.ts'],
        },
      },
    ],
  },
});
