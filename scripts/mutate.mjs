// Changes source files in many small ways, a mutant each, and shows which ones no test notices:
//   npm run mutate -- src/oauth/discovery/challenge.ts[:FIRST-LAST] [test/oauth/discovery/challenge.test.ts]
//
// Without a test file it runs those that are named after the source: here challenge.test.ts and challenge-*.test.ts.
// The first run installs Stryker in test/mutation. Mutants are in a copy of the project, which is removed.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const home = path.join(root, 'test', 'mutation');
const stryker = path.join(home, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');

function run(command, args, env = {}) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  return status ?? 1;
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/** The test files beside a source: src/a/b.ts:1-9 has test/a/b.test.ts and test/a/b-more.test.ts. */
function nearest(source) {
  const name = source.replace(/\.tsx?(?::.*)?$/, '').replace(/^src\//, '');
  return globSync(`test/${name}{,-*}.test.ts`, { cwd: root });
}

const args = process.argv.slice(2);
const sources = args.filter((name) => !name.startsWith('test/'));
const given = args.filter((name) => name.startsWith('test/'));
const tests = given.length > 0 ? given : sources.flatMap(nearest);
if (sources.length === 0) fail('Name a source file: npm run mutate -- src/oauth/discovery/challenge.ts');
if (tests.length === 0) fail('No test file is named after the source. Add one to the command.');

// The runner's peer, vitest, is the project's.
const install = ['ci', '--prefix', home, '--ignore-scripts', '--no-audit', '--no-fund', '--legacy-peer-deps'];
if (!existsSync(stryker) && run('npm', install) !== 0) fail('npm ci failed in test/mutation. See above.');

const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-mutants-'));
try {
  const config = path.join(home, 'stryker.config.json');
  const options = [config, '--mutate', sources.join(','), '--tempDirName', path.join(folder, 'copy')];
  const withKeyring = path.join(root, 'scripts', 'with-keyring.sh');
  process.exitCode = run('sh', [withKeyring, process.execPath, stryker, 'run', ...options], {
    MUTATE_TESTS: tests.join('\n'),
  });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
