/** `keyturn setup` with real processes and a real keyring: what it writes, what it keeps, and the way back. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { openKeyServer } from '../../support/servers/key-server.ts';
import { keepSecret } from '../../support/secrets.ts';

it('setup moves secrets into the vault, and setup undo puts every byte back', async () => {
  const { home, world, url } = await homeInBentWorld({ vault: 'keychain' });
  const key = 'aSetupKey-5772156649';
  const token = 'aSetupToken-1414213562';
  keepSecret('access token', token);
  const server = await openKeyServer(world, { header: 'x-api-key', value: key });
  const user = home.env['HOME'] ?? '';
  const work = path.join(user, '..', 'work');
  onTestFinished(() => {
    for (const folder of [user, work])
      for (const name of readdirSync(folder)) rmSync(path.join(folder, name), { recursive: true });
  });
  const write = (file: string, text: string): string => {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o640 });
    chmodSync(file, 0o640);
    return file;
  };
  const cursor = write(
    path.join(user, '.cursor/mcp.json'),
    `\ufeff{ // mine\r\n  "mcpServers": { "tickets": { "url": "${server.url}", "headers": { "X-Api-Key": "${key}" } } }\r\n}\r\n`,
  );
  const real = write(
    path.join(user, 'dotfiles/gemini.json'),
    JSON.stringify({
      mcpServers: { notes: { httpUrl: url, headers: { Authorization: `Bearer ${token}` } } },
    }),
  );
  mkdirSync(path.join(user, '.gemini'));
  symlinkSync(real, path.join(user, '.gemini/settings.json'));
  const codex = write(path.join(user, '.codex/config.toml'), `[mcp_servers.notes]\nurl = "${url}"\n`);
  mkdirSync(path.join(work, '.git'));
  const project = write(
    path.join(work, '.mcp.json'),
    JSON.stringify({ mcpServers: { notes: { type: 'http', url } } }),
  );
  write(path.join(user, '.qwen/settings.json'), '{ "mcpServers": ');
  const all = [cursor, real, codex, project];
  const texts = (): string[] => all.map((file) => readFileSync(file, 'utf8'));
  const before = texts();

  const open = await world.openServer();
  open.on('POST', '/mcp', () => ({ status: 200, body: '{}' }));
  open.on('GET', '*', ({ path: at }) => ({ status: at.startsWith('/mcp') ? 405 : 403 }));
  write(
    path.join(user, '.kiro/settings/mcp.json'),
    JSON.stringify({ mcpServers: { free: { url: `${open.origin}/mcp` } } }),
  );

  const { code, stdout: dry } = await home.keyturn(['setup', 'check']);
  expect(code).toBe(9);
  expect(dry).toContain('a secret is in plain text (X-Api-Key)');
  expect(dry).toContain('free: left: it needs no sign-in');
  expect(dry).toMatch(/settings\.json \(Qwen Code, user\)\n {2}left: Keyturn can’t read/);
  expect(dry).toMatch(/\.mcp\.json \(Claude Code, project\)\n {2}left: .*--project/);
  const refused = await home.keyturn(['setup', '--no-connect']);
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.stderr).toContain('add --yes');
  expect(texts()).toEqual(before);

  const told = await home.keyturn(['setup', '--yes']);
  expect(told.code, told.stderr).toBe(0);
  // Each line can be pasted: with the entry's own address and name.
  expect(told.stderr).toContain(`\n  keyturn connect ${server.url} --as cursor-tickets\n`);
  const changed = told.stdout;
  expect(changed).toContain('the secret of X-Api-Key');
  expect(changed).toMatch(/is in the vault now\. It was in plain text/);
  expect(changed).toMatch(/is in the sealed backup only: the server offers a sign-in/);
  expect(texts().join('')).not.toMatch(new RegExp(`${key}|${token}`));
  expect(readFileSync(project, 'utf8')).toBe(before[3]);
  const entry = /"command": ("[^"]+"), "args": (\[[^\]]+\])/.exec(readFileSync(cursor, 'utf8'));
  const [file = '', ...more] = JSON.parse(entry?.[2] ?? '[]') as string[];
  expect([JSON.parse(entry?.[1] ?? '""'), file].every((word) => path.isAbsolute(String(word)))).toBe(true);
  expect(more).toEqual(['bridge', server.url, '--as', 'cursor-tickets']);
  expect(readFileSync(cursor, 'utf8')).toContain(`"KEYTURN_HOME": "${home.folder}"`);
  expect(statSync(cursor).mode & 0o777).toBe(0o640);
  expect(lstatSync(path.join(user, '.gemini/settings.json')).isSymbolicLink()).toBe(true);
  expect(await home.json<object[]>('api-key', 'list')).toMatchObject([
    { resource: server.url, header: 'X-Api-Key' },
  ]);
  const sealed = readFileSync(path.join(home.paths.state, 'setup-1.sealed'), 'utf8');
  expect(sealed).not.toMatch(new RegExp(`${key}|${Buffer.from(key).toString('base64').slice(0, 20)}|cursor`));

  await home.ok(['setup', '--no-connect', '--project', '--yes']);
  expect((await home.keyturn(['setup', 'check'])).code).toBe(0);
  await home.ok(['broker', 'stop']);
  writeFileSync(codex, `# a new line\n${readFileSync(codex, 'utf8')}`);
  const undone = await home.keyturn(['setup', 'undo', '--yes']);
  expect(undone.stdout.match(/as it was, byte for byte/g)).toHaveLength(3);
  expect(undone.stdout).toMatch(
    /config\.toml: has changed since\. Keyturn restored only its own entries: notes\.\n/,
  );
  expect(undone.stderr).toContain(`keyturn api-key remove ${server.url}`);
  expect(texts()).toEqual([before[0], before[1], `# a new line\n${before[2]}`, before[3]]);
  expect(readdirSync(home.paths.state).filter((name) => name.startsWith('setup-'))).toEqual([]);
});

it('setup without a usable keychain changes no file, and says so', async () => {
  const { home, url } = await homeInBentWorld({
    vault: 'keychain',
    env: { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' },
  });
  const file = path.join(home.env['HOME'] ?? '', '.cursor/mcp.json');
  mkdirSync(path.dirname(file));
  onTestFinished(() => rmSync(path.dirname(file), { recursive: true }));
  const text = JSON.stringify({ mcpServers: { notes: { url } } });
  writeFileSync(file, text);
  const { code, stderr } = await home.keyturn(['setup', '--yes']);
  expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('No file was changed.') });
  expect(readFileSync(file, 'utf8')).toBe(text);
});
