/** `keyturn pause` and `keyturn resume` with real processes: who gets nothing meanwhile, and where it shows. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { builtBin } from '../../support/built.ts';
import type { TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { pairedProgram } from '../../support/processes/program.ts';
import { openKeyServer } from '../../support/servers/key-server.ts';

const kinds = ['token', 'apiKey'] as const;

/** What a terminal shows of the command, by script(1). */
async function atTerminal(home: TestHome, command: string, typed: string): Promise<string> {
  const typescript = path.join(home.folder, '..', 'typescript');
  const shell = `${process.execPath} ${builtBin} ${command}; true`;
  const running = promisify(execFile)('script', ['-qec', shell, typescript], { env: home.env });
  running.child.stdin?.end(`${typed}\n`);
  return (await running).stdout;
}

it('keyturn pause keeps tokens and API keys from every program over a restart, shows everywhere, and ends with keyturn resume', async () => {
  const { home, world, url: resource } = await homeInBentWorld({ vault: 'keychain' });
  await startBroker(home);
  await allow(home, 'cli', resource);
  await signIn(home, resource);
  const key = 'anApiKey-1618';
  const server = await openKeyServer(world, { header: 'x-api-key', value: key });
  const set = ['api-key', 'set', server.url, '--header', 'X-Api-Key', '--api-key-stdin', '--unchecked'];
  await home.ok(set, { stdin: `${key}\n` });
  const program = await pairedProgram(home, 'editor');
  await home.ok(['app', 'allow', 'editor', server.url, '--api-key']);
  await program.getCredential({ resource: server.url, kinds });

  const pausing = await home.keyturn(['pause', '--for', '2h']);
  expect(pausing).toMatchObject({ code: 0, stdout: '' });
  expect(pausing.stderr).toMatch(
    /^keyturn: all access is paused until \S+ \S+ \(keyturn resume ends it sooner\)\.\n$/,
  );
  await expect(program.getCredential({ resource: server.url, kinds })).rejects.toMatchObject({
    reason: 'paused',
    retryAfter: expect.any(Number),
  });
  expect((await home.keyturn(['pause'])).stderr).toBe(
    'keyturn: all access is paused until you resume it (keyturn resume).\n',
  );
  await stopBroker(home);
  const refused = await home.keyturn(['token', resource]);
  expect(refused).toMatchObject({ code: 7, stdout: '' });
  expect(refused.stderr).toMatch(/hint: Resume with: keyturn resume[^]*reason: paused/);

  expect((await home.keyturn(['sign-in', 'list'])).stderr).toContain(
    'all access is paused until you resume it',
  );
  expect(await home.ok(['status'])).toContain('PAUSED     all access, until you resume it');
  expect(await home.ok(['sign-in', 'show', resource])).toMatch(/next +You paused all access/);
  expect(await home.ok(['sign-in', 'show', server.url])).toMatch(/paused +You paused all access/);
  expect((await home.keyturn(['doctor'])).stdout).toContain('You paused all access until you resume it');

  await home.ok(['resume']);
  await home.ok(['resume']);
  await tokenAt(home, resource);
  const asking = await home.keyturn(['logout', '--all']);
  expect(asking).toMatchObject({ code: 2, stdout: '' });
  expect(asking.stderr).toContain(
    'hint: To revoke every sign-in without a question: keyturn logout --all --yes',
  );
  expect(await atTerminal(home, 'logout --all', 'no')).toMatch(
    /sign-ins \(1\) to:[^]*mcp"[^]*lose access:[^]*"cli"[^]*Nothing was revoked/,
  );
  await tokenAt(home, resource);
  expect(await home.ok(['logout', '--all', '--yes'])).toContain('confirmed');
  expect((await askBroker(home, 'signIn.list', {})).signIns).toMatchObject([{ state: 'revoked' }]);
  const rows = await home.ok(['audit', 'log']);
  for (const outcome of [/pause +paused until /, /pause +paused +-/, /pause +resumed/, /refused +paused/])
    expect(rows).toMatch(outcome);
});
