/** Files of a home that can't be read: reported with what to do, kept as they are, never taken for empty. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { signInItems } from '../../support/homes/named-items.ts';
import { allow, signIn, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { rawItems } from '../../vault/keychain/keyring.ts';

describe('keyturn status and keyturn doctor', () => {
  it('explain a missing item, an older document and a foreign one', async () => {
    const { home, resource: server } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    const file = path.join(home.paths.state, 'authority.json');
    const items = rawItems(`keyturn/${home.homeId}`);
    onTestFinished(() => items.close());
    const explained = async (sentence: string, ...command: string[]): Promise<void> => {
      await home.keyturn(command);
      expect(await home.ok(['status'])).toContain(sentence);
      expect((await home.keyturn(['doctor'])).stdout).toContain(sentence);
      await stopBroker(home);
    };
    await signIn(home, server);
    await stopBroker(home);
    const older = readFileSync(file);
    await startBroker(home);
    await allow(home, 'cli', server);
    for (const name of signInItems(home.paths.state).values()) await items.delete(name);
    await stopBroker(home);
    await explained(`The vault has no token for "${server}".`, 'token', server, '--no-input');
    await startBroker(home);
    await explained('the vault is locked', 'lock');
    const newest = readFileSync(file, 'utf8');
    writeFileSync(file, older);
    await explained('is not the newest one that your vault knows.', 'unlock');
    writeFileSync(file, newest.replace('"cli"', '"cly"'));
    await explained("can't be read, or Keyturn did not write it", 'unlock');
    rmSync(file);
    await explained('is gone, and your vault knows that there was one.', 'unlock');
  });
});
