/** The examples of docs/reference/client-library.md, run against a real broker and a real protected server. */
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Question } from '../../src/broker/approval-requests/approval-requests.ts';
import { terminalLog } from '../../src/daemon/system/log.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { homePaths } from '../../src/base/paths.ts';
import { until } from '../support/home.ts';
import { openWorld } from '../support/world.ts';
import { ofFile } from '../support/lasting.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { codeBlocks, page, root } from './pages.ts';

const run = promisify(execFile);

// Its name is short: a socket's path has room for 103 bytes.
const folder = temporaryFolder(afterAll);
const world = ofFile(() => openWorld());
let daemon: Daemon;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  installExamples();
  const home = { KEYTURN_HOME: path.join(folder, 'home') };
  env = { ...home, PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: world.caFile };
  daemon = await startDaemon({
    paths: homePaths(home),
    env: { ...env, KEYTURN_VAULT: 'memory' },
    autoStarted: false,
    openBrowser: async (url) => void world.signIn(url).catch(() => undefined),
    log: terminalLog(() => undefined),
    shield: async () => [],
  });
});

afterAll(() => daemon.stop());

/** The examples in a folder where `@keyturn/client` is what the source is now. */
function installExamples(): void {
  const [plain = '', sdk1 = '', importOf2 = ''] = codeBlocks(page('docs/reference/client-library.md'), 'ts');
  const sdk2 = importOf2 + sdk1.replaceAll(/^import .*@modelcontextprotocol.*$/gm, '');
  for (const [name, text] of Object.entries({ plain, sdk1, sdk2 }))
    writeFileSync(path.join(folder, `${name}.mts`), text);
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
}

async function runExample(name: 'plain' | 'sdk1' | 'sdk2', ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [path.join(folder, `${name}.mts`), ...args], { env });
  return stdout;
}

/** Says yes to the next question of this kind, as `keyturn request approve` would. */
async function sayYes<K extends Question['kind']>(kind: K): Promise<Extract<Question, { kind: K }>> {
  const { approvalRequests } = daemon.broker.parts;
  const open = await until(`a question: ${kind}`, () =>
    approvalRequests.list().find(({ question }) => question.kind === kind),
  );
  approvalRequests.answer(open.id, 'approve');
  // Found by its kind.
  return open.question as Extract<Question, { kind: K }>;
}

// Where the broker's side fails first, that failure is the one to show: hence the empty catches.
it('pairs by the code that the broker shows, then calls the protected server', async () => {
  const pairing = runExample('plain', 'pair');
  pairing.catch(() => undefined);
  const { code, appName } = await sayYes('pair');
  expect(appName).toBe('notes-example');
  expect(await pairing).toBe(`Compare this code: ${code}\nPaired.\n`);

  const calling = runExample('plain', 'list', world.protectedServer.url);
  calling.catch(() => undefined);
  expect(await sayYes('allow')).toMatchObject({ appName, endpoint: world.protectedServer.url });
  expect(await calling).toBe('200\n');
  expect(world.counts().authorizationServer.signIns).toBe(1);

  // Neither a question nor a sign-in the second time.
  expect(await runExample('plain', 'list', world.protectedServer.url)).toBe('200\n');
  expect(world.counts().authorizationServer.signIns).toBe(1);
});

it.each(['sdk1', 'sdk2'] as const)('lists the tools of the protected server through %s', async (name) => {
  const { url } = world.protectedServer;
  expect(await runExample(name, url)).toBe('list-notes add-note\n');
  expect(world.counts().authorizationServer.signIns).toBe(1);
});
