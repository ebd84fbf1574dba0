/** What a press of the tab key offers of a real broker's servers, programs and accounts: a real bash, the built command. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { builtBin } from '../../support/built.ts';
import { homeInWorld, newHome, type TestHome } from '../../support/home.ts';
import { paired } from '../../support/processes/program.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const run = promisify(execFile);

/** Bash breaks a line into words at these, each a word of its own. */
const split = (words: readonly string[]): string[] =>
  words.flatMap((word) => word.split(/([:@])/).filter(Boolean));

/** The replies of a real bash, in which `keyturn` is the built command of this home. */
async function shell(home: TestHome) {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'script'), await home.ok(['completion', 'bash']));
  const command = path.join(folder, 'keyturn');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${builtBin}' "$@"\n`);
  chmodSync(command, 0o700);
  const source =
    'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keyturn; printf "%s\\n" "${COMPREPLY[@]}"';
  const env = { ...home.env, PATH: `${folder}:${process.env['PATH']}`, COMP_WORDBREAKS: ' \t\n"\'@><=;|&(:' };
  return async (...words: string[]): Promise<string[]> => {
    const typed = words.at(-1) === '' ? [...split(words), ''] : split(words);
    const args = ['--norc', '-c', source, 'bash', path.join(folder, 'script'), 'keyturn', ...typed];
    const { stdout, stderr } = await run('bash', args, { env, cwd: folder });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((line) => line !== '' && !line.startsWith('--'));
  };
}

it('completion offers servers, apps and accounts, and nothing a shell could run', async () => {
  const { home, resource } = await homeInWorld();
  await home.ok(['login', resource, '--account', 'alice@example']);
  await home.ok(['login', resource, '--account', '$(touch made)']);
  await paired(home, 'notes-app');
  await home.ok(['app', 'allow', 'notes-app', 'https://other.example/mcp']);
  await home.ok(['api-key', 'set', 'https://keyed.example/mcp', '--unchecked', '--api-key-stdin'], {
    stdin: 'ak_1',
  });
  await home.ok(['proxy', 'add', 'https://far.example/mcp', '--as', 'far']);
  const asking = home.start(['token', 'https://asked.example/mcp']);
  await asking.says('keyturn request approve');
  const [question] = await home.json<{ id: string }[]>('request', 'list');
  const complete = await shell(home);
  // The command gives up after a second; on a busy machine another press of the key may be needed.
  const offered = (...words: string[]) => expect.poll(() => complete(...words));

  // Bash puts a reply in the place of what follows the last colon.
  const { host, hostname, port } = new URL(resource);
  await offered('token', '').toEqual([resource, 'https://keyed.example/mcp', 'https://other.example/mcp']);
  await offered('api-key', 'remove', 'https://k').toEqual(['//keyed.example/mcp']);
  await offered('proxy', 'remove', '').toEqual(['far', 'https://far.example/mcp']);
  await offered('app', 'revoke', 'notes-app', 'https://oth').toEqual(['//other.example/mcp']);
  await offered('request', 'approve', '').toEqual([question?.id]);
  asking.signal('SIGINT');
  await asking.ended;
  await offered('logout', 'https://12').toEqual([`//${host}/mcp`]);
  await offered('logout', `https://${hostname}:`).toEqual([`${port}/mcp`]);
  await offered('sign-in', 'show', 'https://oth').toEqual(['//other.example/mcp']);
  await offered('app', 'allow', 'no').toEqual(['notes-app']);
  await offered('app', 'allow', 'notes-app', 'https://oth').toEqual(['//other.example/mcp']);
  await offered('token', resource, '--account', '').toEqual(['alice@example']);
  await offered('token', resource, '--account', 'alice@e').toEqual(['example']);
  await offered('token', 'https://nowhere').toEqual([]);
  await expect.poll(() => home.ok(['__complete', 'accounts'])).toBe('alice@example\n');
});

it('completion starts no broker and says nothing if none runs', async () => {
  const home = newHome();
  expect(await home.keyturn(['__complete', 'resources'])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(await home.keyturn(['__complete', 'nonsense'])).toEqual({ code: 0, stdout: '', stderr: '' });
  expect(existsSync(home.folder)).toBe(false);
  expect(home.brokers()).toEqual([]);
});

it('completion does not wait for a broker that never answers', async () => {
  const home = newHome();
  await home.ok(['sign-in', 'list']);
  await home.ok(['broker', 'stop']);
  mkdirSync(home.paths.run, { mode: 0o700, recursive: true });
  const file = path.join(home.paths.run, 'broker.sock');
  const server = net.createServer();
  server.listen(file);
  await once(server, 'listening');
  chmodSync(file, 0o600);
  onTestFinished(() => void server.close());
  expect(await home.keyturn(['__complete', 'programs'])).toEqual({ code: 0, stdout: '', stderr: '' });
});
