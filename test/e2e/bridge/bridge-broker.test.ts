/** A bridge whose broker ends in the middle of a session: it starts another one, and nobody is needed. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { clientOf } from '../../support/processes/bridge-client.ts';
import { paired } from '../../support/processes/program.ts';

/** Sign-in and permission last in the keychain. Each test leaves a broker, which another process started. */
const there = commonHome({ vault: 'keychain' });
beforeAll(async () => {
  const { home, resource } = there;
  await paired(home, 'an-editor');
  await owner.allow(home, 'an-editor', resource);
  // Before a bridge starts, which waits only some seconds for a sign-in.
  await owner.signIn(home, resource);
});

/** A bridge in a session, its user signed in. */
async function inSession() {
  const { home, world, resource } = there;
  const { client, output } = await clientOf(home, resource, '--as', 'an-editor');
  const notes = async (): Promise<string> => JSON.stringify(await client.callTool({ name: 'list-notes' }));
  expect(await notes()).toContain('alice');
  return { home, world, notes, output };
}

it('the bridge passes on why no broker starts, and serves again once one does', async () => {
  const { home, notes, output } = await inSession();
  await owner.killBroker(home);
  const file = path.join(home.paths.config, 'owner.key');
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
