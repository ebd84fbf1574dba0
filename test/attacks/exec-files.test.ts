/** The files of `keyturn exec --file`, and what else may lie beside them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld } from '../support/home.ts';

/** The user is signed in, \`cli\` is allowed, and a folder in memory is there as a login session has it. */
async function signedIn() {
  const { home, resource } = await homeInWorld();
  await home.ok(['app', 'allow', 'cli', resource]);
  await home.ok(['login', resource]);
  const runtime = mkdtempSync('/dev/shm/keyturn-test-');
  onTestFinished(() => rmSync(runtime, { recursive: true, force: true }));
  const env = { XDG_RUNTIME_DIR: runtime };
  const words = (variable: string, script: string) => [
    'exec',
    '--file',
    `${variable}=${resource}`,
    '--',
    'sh',
    '-c',
    script,
  ];
  return { home, runtime, env, words };
}

it('stay while another exec starts, whatever their variable is called', async () => {
  const { home, env, words } = await signedIn();
  const running = home.start(words('lock', 'echo "at $lock" >&2; read -r _; test -s "$lock"'), {
    env,
    stdinStaysOpen: true,
  });
  await running.says('at ');
  await home.ok(words('AT', 'test -s "$AT"'), { env });
  running.types('');
  expect(await running.ended).toMatchObject({ code: 0 });
});

it('are made beside those of others that start at the same moment', async () => {
  const { home, runtime, env, words } = await signedIn();
  const young = path.join(runtime, 'keyturn-exec-young');
  mkdirSync(young, { mode: 0o700 });
  const runs = await Promise.all(
    Array.from({ length: 6 }, async () => home.keyturn(words('AT', 'test -s "$AT"'), { env })),
  );
  expect(runs.filter(({ code }) => code !== 0)).toEqual([]);
  expect(readdirSync(runtime)).toEqual([path.basename(young)]);
});

it('lead no sweep through a link into another folder', async () => {
  const { home, runtime, env, words } = await signedIn();
  const elsewhere = path.join(runtime, 'notes');
  mkdirSync(elsewhere, { mode: 0o700 });
  writeFileSync(path.join(elsewhere, 'note'), 'milk');
  symlinkSync(elsewhere, path.join(runtime, 'keyturn-exec-link'));
  await home.ok(words('AT', 'test -s "$AT"'), { env });
  expect(readdirSync(elsewhere)).toEqual(['note']);
  expect(existsSync(path.join(runtime, 'keyturn-exec-link'))).toBe(true);
});
