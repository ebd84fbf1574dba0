/** `keyturn setup` on machines as people have them: clients that save, files that can't be replaced, Nodes that go. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Desk, newDesk } from './desk.ts';

const url = 'https://127.0.0.1:9/mcp';
const isRoot = process.getuid?.() === 0;

interface Config {
  numStartups?: number;
  mcpServers: Record<string, { url?: string; command?: string; headers?: Record<string, string> }>;
}

const read = (file: string): Config => JSON.parse(readFileSync(file, 'utf8')) as Config;

/** As a client saves its own settings. */
const save = (file: string, change: (config: Config) => void): void => {
  const config = read(file);
  change(config);
  writeFileSync(file, JSON.stringify(config, undefined, 2));
};

function withEntry(desk: Desk, name: string): string {
  const file = path.join(desk.home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `{ "mcpServers": { "notes": { "url": "${url}", "type": "http" } } }\n`);
  return file;
}

const backups = (desk: Desk): string[] => readdirSync(desk.state).filter((name) => name.startsWith('setup-'));

test('setup undo puts an entry back after its client saved the file, and then ends the backup', async () => {
  const desk = newDesk();
  const file = withEntry(desk, '.claude.json');
  expect(await desk.keyturn('setup', '--no-connect', '--yes')).toMatchObject({ code: 0 });
  save(file, (config) => (config.numStartups = 1));
  expect(backups(desk)).toHaveLength(1);
  expect(await desk.keyturn('setup', 'undo', '--yes')).toMatchObject({ code: 0 });
  expect(read(file)).toEqual({ numStartups: 1, mcpServers: { notes: { url, type: 'http' } } });
  expect(backups(desk)).toEqual([]);
});

test('setup undo keeps its backup while a file is away', async () => {
  const desk = newDesk();
  const file = withEntry(desk, '.cursor/mcp.json');
  await desk.keyturn('setup', '--no-connect', '--yes');
  const switched = readFileSync(file);
  writeFileSync(file, '{ "half');
  expect(await desk.keyturn('setup', 'undo', '--yes')).toMatchObject({ code: 9 });
  expect(backups(desk)).toHaveLength(1);
  writeFileSync(file, switched);
  expect(await desk.keyturn('setup', 'undo', '--yes')).toMatchObject({ code: 0 });
  expect(read(file).mcpServers['notes']?.url).toBe(url);
});

test('setup writes a file that is mounted alone, and the others', async ({ skip }) => {
  const desk = newDesk();
  const [mounted, other] = [withEntry(desk, '.claude.json'), withEntry(desk, '.cursor/mcp.json')];
  const outside = path.join(desk.folder, 'host.json');
  writeFileSync(outside, readFileSync(mounted));
  if (spawnSync('mount', ['--bind', outside, mounted]).status !== 0) skip('no mounts can be made here');
  onTestFinished(() => void execFileSync('umount', [mounted]));
  expect(await desk.keyturn('setup', '--no-connect', '--yes')).toMatchObject({ code: 0 });
  for (const file of [mounted, other]) expect(read(file).mcpServers['notes']?.url).toBeUndefined();
});

test('an entry whose Node is gone is found by setup check and doctor, and fixed by setup', async () => {
  const desk = newDesk();
  const file = withEntry(desk, '.cursor/mcp.json');
  await desk.keyturn('setup', '--no-connect', '--yes');
  const gone = '/gone/versions/node/v22.19.0/bin/node';
  save(file, ({ mcpServers }) => Object.assign(mcpServers['notes'] ?? {}, { command: gone }));
  for (const command of [['setup', 'check'], ['doctor']])
    expect(await desk.keyturn(...command)).toMatchObject({ code: 9, stdout: expect.stringContaining(gone) });
  expect(await desk.keyturn('setup', '--no-connect', '--yes')).toMatchObject({ code: 0 });
  expect(read(file).mcpServers['notes']?.command).not.toBe(gone);
});

test('setup looks where the clients’ own variables lead', async () => {
  const desk = newDesk();
  withEntry(desk, 'cc/.claude.json');
  mkdirSync(path.join(desk.home, 'cx'));
  writeFileSync(path.join(desk.home, 'cx', 'config.toml'), `[mcp_servers.notes]\nurl = "${url}"\n`);
  const env = { CLAUDE_CONFIG_DIR: path.join(desk.home, 'cc'), CODEX_HOME: path.join(desk.home, 'cx') };
  const { code, stdout } = await desk.keyturnIn({ XDG_RUNTIME_DIR: desk.run, ...env }, 'setup', 'check');
  expect(code).toBe(9);
  expect(stdout).toMatch(/cc\/\.claude\.json[^]*cx\/config\.toml/);
});

test.runIf(isRoot)('root makes no home in the folder of another user', async () => {
  const desk = newDesk();
  chownSync(desk.home, 1500, 1500);
  const { code, stderr } = await desk.keyturn('sign-in', 'list');
  expect({ code, stderr }).toMatchObject({
    code: 8,
    stderr: expect.stringContaining('belongs to user 1500'),
  });
  expect(readdirSync(desk.home)).toEqual([]);
});
