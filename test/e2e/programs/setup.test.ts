/** `keyturn setup` at a terminal, of entries that an earlier run switched and left without access. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { homeInWorld, newHome, type TestHome } from '../../support/home.ts';
import { keyturnInTerminal, type Terminal } from '../../support/processes/terminal.ts';

/** Writes the servers into a file of a client that the user of this home has, until the test ends; answers its path. */
function configured({ env }: TestHome, mcpServers: object, name = '.cursor/mcp.json'): string {
  const file = path.join(env['HOME'] ?? '', name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ mcpServers }));
  const [folder = ''] = name.split('/');
  onTestFinished(() => rmSync(path.join(env['HOME'] ?? '', folder), { recursive: true }));
  return file;
}

const codeOf = async ({ ended }: Terminal): Promise<unknown> => (await ended)[0];

it('setup connects an entry that failed before, and names one that you denied', async () => {
  const { home, world, resource } = await homeInWorld();
  const servers = { notes: { url: resource }, other: { url: `${new URL('/', resource).href}other` } };
  configured(home, servers);
  const setup = (...options: string[]) => keyturnInTerminal(home, 'setup', ...options);

  const isBack = world.authorizationServer.server.on('*', '*', 'destroy');
  const first = setup('--yes');
  await first.shows(/may "cursor-notes" be paired, [^]*\[y\/N\] /);
  first.type('y\n');
  await first.shows(/may "cursor-other" be paired, [^]*\[y\/N\] /);
  first.type('n\n');
  expect(await codeOf(first)).toBe(6);
  expect(first.shown()).toContain('--as cursor-notes');

  isBack();
  // The broker waits for a second or two before it asks that server again.
  let shown = '';
  await vi.waitFor(
    async () => {
      const run = setup();
      const code = await codeOf(run);
      shown += run.shown();
      expect(code).toBe(9);
    },
    { timeout: 100_000 },
  );
  expect(shown).toContain('there is nothing to switch.');
  expect(shown).toContain('cursor-notes may reach');
  expect(shown).not.toContain('may "');

  const third = setup();
  expect(await codeOf(third)).toBe(9);
  expect(third.shown()).not.toContain('cursor-notes may reach');
  const denied = `  keyturn connect ${servers.other.url} --as cursor-other`;
  const commandsIn = (text: string) => text.match(/^ +keyturn connect [^\r\n]*/gm);
  expect(commandsIn(third.shown())).toEqual([denied]);
  for (const command of ['setup', 'setup check']) {
    const { code, stderr } = await home.keyturn(command.split(' '));
    expect([code, commandsIn(stderr)]).toEqual([0, [denied]]);
  }

  await home.ok(['logout', resource]);
  const afterLogout = setup();
  expect(await codeOf(afterLogout)).toBe(9);
  expect(afterLogout.shown()).toContain('cursor-notes may reach');

  await home.ok(['broker', 'stop']);
  expect(commandsIn((await home.keyturn(['setup', 'check'])).stderr)).toBeNull();
  expect(home.brokers()).toEqual([]);
});

it('after an interrupted sign-in, setup asks only for the entry that still needs it', async () => {
  const { home, world, resource } = await homeInWorld();
  for (const name of ['.cursor/mcp.json', '.kiro/settings/mcp.json'])
    configured(home, { notes: { url: resource } }, name);
  const setup = () => keyturnInTerminal(home, 'setup', '--yes');

  const interrupted = setup();
  await interrupted.shows(/\[y\/N\] /);
  interrupted.type('\x03');
  const told = expect.stringContaining('the files are switched already. To finish: keyturn setup');
  expect([await codeOf(interrupted), interrupted.shown()]).toEqual([130, told]);

  // The approval that follows is for both of them, though the first one fails then.
  const denied = setup();
  await denied.shows(/may "cursor-notes", "kiro-notes" be paired, [^]*\[y\/N\] /);
  denied.type('n\n');
  expect(await codeOf(denied)).toBe(4);
  for (const [answer, code] of [
    ['n', 9],
    ['y', 0],
  ] as const) {
    const undo = keyturnInTerminal(home, 'setup', 'undo');
    await undo.shows(
      /\.cursor\/mcp\.json: notes\r\n.*\.kiro\/settings\/mcp\.json: notes\r\nRestore these\? \[y\/N\] /,
    );
    undo.type(`${answer}\n`);
    expect(await codeOf(undo)).toBe(code);
    expect(undo.shown()).not.toContain('reason:');
  }

  const isBack = world.authorizationServer.server.on('*', '*', 'destroy');
  const first = setup();
  await first.shows(/may "cursor-notes", "kiro-notes" be paired, [^]*\[y\/N\] /);
  first.type('y\n');
  expect(await codeOf(first)).toBe(6);

  isBack();
  // The broker waits for a second or two before it asks that server again.
  const asking = await vi.waitFor(
    async () => {
      const run = setup();
      await Promise.race([run.ended, run.shows(/\[y\/N\] /)]);
      expect(run.shown()).toContain('cursor-notes may reach');
      return run;
    },
    { timeout: 100_000 },
  );
  expect(asking.shown()).toContain('may "kiro-notes" be paired, and reach');
  expect(asking.shown()).not.toContain('"cursor-notes"');
  asking.type('y\n');
  expect(await codeOf(asking)).toBe(0);
  expect(asking.shown()).toContain('kiro-notes may reach');
});

it('setup asks for, and shows, each account that entries of one server name', async () => {
  const { home, resource } = await homeInWorld();
  const url = resource;
  const file = configured(home, { one: { url }, two: { url }, three: { url } });
  await home.ok(['login', resource, '--account', 'alice']);
  await home.ok(['setup', '--yes', '--no-connect']);
  const named = (name: string, account: string) => (text: string) =>
    text.replace(`"cursor-${name}"`, `$&, "--account=${account}"`);
  const accounts = [named('one', 'alice'), named('two', 'alice'), named('three', 'private')];
  const gone = (text: string) => text.replace(/"[^"]*"(?=, "args": [^}]*"cursor-two")/, '"/gone/node"');
  writeFileSync(
    file,
    [...accounts, gone].reduce((text, change) => change(text), readFileSync(file, 'utf8')),
  );

  const setup = keyturnInTerminal(home, 'setup', '--yes');
  await setup.shows(/may "cursor-two", "cursor-one" be paired, and reach "[^"]*" as "alice"[^]*\[y\/N\] /);
  setup.type('y\n');
  await setup.shows(/may "cursor-three" be paired, and reach "[^"]*" as "private"[^]*\[y\/N\] /);
  setup.type('n\n');
  expect(await codeOf(setup)).toBe(4);
  expect(setup.shown()).toContain('cursor-two may reach');
  expect(setup.shown()).not.toContain('cursor-three may reach');
});

it('setup asks servers by the authorities that the home trusts, whatever the terminal does', async () => {
  const { home, world } = await homeInWorld();
  const { base, on } = world.authorizationServer.server;
  on('*', '/free', { status: 200 });
  const strange = newHome();
  configured(home, { free: { url: `${base}/free` } });
  configured(strange, { keyed: { url: `${base}/keyed`, headers: { 'X-Api-Key': 'a-key' } } });
  await home.ok(['app']);
  const check = async () => home.ok(['setup', 'check'], { env: { NODE_EXTRA_CA_CERTS: '/dev/null' } });
  expect(await check()).toContain('free: left: it needs no sign-in');
  await home.ok(['broker', 'stop']);
  expect(await check()).toContain('free: left: it needs no sign-in');

  const { stdout } = await strange.keyturn(['setup', '--yes']);
  expect(stdout).toMatch(/^left keyed .* keyturn settings set extraAuthorities FILE/m);
});
