/** A bridge whose broker ends in the middle of a session: it starts another one, and nobody is needed. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld, isAlive, until } from '../../support/home.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';

/** A bridge in a session, its user signed in; sign-in and permission last in the keychain. */
async function inSession() {
  const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
  await home.ok(['list']);
  await paired(home, 'an-editor');
  await home.ok(['allow', 'an-editor', resource]);
  // Before the bridge starts, which waits only some seconds for a sign-in.
  await home.ok(['login', resource]);
  const { client, output } = await clientOf(home, resource, '--as', 'an-editor');
  const notes = async (): Promise<string> => JSON.stringify(await client.callTool({ name: 'list-notes' }));
  expect(await notes()).toContain('alice');
  const pid = (await home.brokerPid()) ?? 0;
  const killed = async (): Promise<void> => {
    process.kill(pid, 'SIGKILL');
    await until('the broker is gone', () => !isAlive(pid));
  };
  return { home, world, notes, output, killed };
}

describe('between two calls', () => {
  it('a broker that is killed is replaced by the bridge, and the next call is answered', async () => {
    const { home, world, notes, killed } = await inSession();
    await killed();
    expect(await notes()).toContain('alice');
    expect(home.brokers()).toHaveLength(1);
    expect(world.counts().authorizationServer.signIns).toBe(1);
    expect(await home.json('pending')).toEqual([]);
  });

  it('a broker that the person stops is replaced by the bridge, and the next call is answered', async () => {
    const { home, world, notes } = await inSession();
    await home.ok(['daemon', '--stop']);
    expect(await notes()).toContain('alice');
    expect(home.brokers()).toHaveLength(1);
    expect(world.counts().authorizationServer.signIns).toBe(1);
  });
});

it('the bridge answers with the broker’s complaint while none can be started, and serves again once one can', async () => {
  const { home, notes, output, killed } = await inSession();
  await killed();
  const file = path.join(home.paths.state, 'home.json');
  const kept = readFileSync(file);
  writeFileSync(file, '{}');
  for (const _ of [1, 2]) {
    await expect(notes()).rejects.toMatchObject({
      message: expect.stringContaining('The broker could not be started.') as string,
      data: { reason: 'broker_unreachable' },
    });
    expect(home.brokers()).toEqual([]);
  }
  expect(output.stderr.match(/could not be started/g)).toHaveLength(2);
  writeFileSync(file, kept);
  expect(await notes()).toContain('alice');
});
