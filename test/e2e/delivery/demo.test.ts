/** The demo, as `npm run demo -- --yes --keep` runs it: real servers, a real daemon, every count as stated, and what is kept. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { builtBin } from '../../support/built.ts';

const demo = [path.join(import.meta.dirname, '..', '..', '..', 'demo', 'main.ts'), '--yes', '--keep'];

test('npm run demo finds every count as stated, and runs on for a second terminal', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-kept-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, '.demo.env');
  const first = spawn(process.execPath, demo, { cwd: folder });
  let [stdout, stderr] = ['', ''];
  first.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const ended = once(first, 'close');
  await new Promise<void>((resolve) => {
    first.stdout.on('data', (text: Buffer) => {
      stdout += text.toString();
      if (stdout.includes('End all of it here with Ctrl-C.')) resolve();
    });
    void ended.then(() => resolve());
  });
  expect({ stderr, code: first.exitCode }).toEqual({ stderr: '', code: null });
  expect(stdout).toContain('All counts are as expected.');
  expect(stdout).not.toContain('WRONG');
  expect(stdout).toContain('it started keyturn bridge as its server, listed 2 tools and called list-notes');
  expect(stdout).toMatch(
    /a thief has that token\. As a Bearer token: 401 invalid_token; .* used: 401 invalid_dpop_proof/,
  );

  // As docs/tutorial.md says for a second terminal, in a session without a D-Bus of its own.
  const written = readFileSync(file, 'utf8');
  const { PATH, HOME } = process.env;
  const bare = { PATH, HOME };
  const inTerminal = (line: string): string =>
    execFileSync('sh', ['-c', `. ./.demo.env; ${line}`], { cwd: folder, env: bare, encoding: 'utf8' });
  const keyturn = `'${process.execPath}' '${builtBin}'`;
  const token = `${keyturn} token "$NOTES" --no-input`;
  expect(inTerminal(token)).toMatch(/^\S+\n$/);
  expect(inTerminal(`${keyturn} broker restart; ${token}`)).toMatch(/^\S+\n$/);
  expect(inTerminal(`${keyturn} broker stop; ${token}`)).toMatch(/^\S+\n$/);

  const second = spawnSync(process.execPath, demo, { cwd: folder, encoding: 'utf8' });
  expect(second).toMatchObject({ status: 2, stdout: '' });
  expect(second.stderr).toContain(`another demo (process ${first.pid}) is kept running`);
  expect(readFileSync(file, 'utf8')).toBe(written);

  first.kill('SIGHUP');
  expect(await ended).toEqual([0, null]);
  expect(existsSync(file)).toBe(false);
  expect(stderr).toBe('');
});
