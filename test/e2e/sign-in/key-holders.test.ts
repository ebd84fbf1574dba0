/** Keys of bound tokens in a security token, with the built command and broker. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesBelow, homeInWorld, newHome, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, stopBroker } from '../../support/homes/owner-acts.ts';
import { softToken, type SoftToken } from '../../support/processes/security-token.ts';
import { headersIn, statusWith } from '../../support/servers/bound-request.ts';
import type { TestWorld } from '../../support/world.ts';

interface Signed {
  readonly home: TestHome;
  readonly world: TestWorld;
  readonly resource: string;
  readonly token: SoftToken;
}

/** `cli` may use a server that takes bound tokens only, and new keys are made in a token. */
async function signedIn(): Promise<Signed> {
  const issuing = { takesBoundTokens: true };
  const { home, world, resource } = await homeInWorld({ issuing, vault: 'keychain' });
  const token = softToken(home.env['HOME']);
  await home.ok(['settings', 'keyHolder', token.uri]);
  await allow(home, 'cli', resource);
  await signIn(home, resource);
  return { home, world, resource, token };
}

async function statusOf({ home, world, resource }: Signed): Promise<number> {
  const nonce = (await world.fetch(resource, { method: 'POST' })).headers.get('dpop-nonce') ?? '';
  const printed = await home.ok(['token', resource, '--dpop', 'POST', '--nonce', nonce]);
  return statusWith(world, headersIn(printed));
}

describe('a security token', () => {
  it('a security token signs for a grant through a refresh and a restart, and no file and no output has the PIN', async () => {
    const signed = await signedIn();
    const { home, resource, token } = signed;
    expect(await statusOf(signed)).toBe(200);
    expect((await askBroker(home, 'grant.list', {})).grants).toMatchObject([
      { tokenType: 'DPoP', keyToken: token.label },
    ]);
    expect(await home.ok(['list'])).toContain(`tokens bound to a key in "${token.label}"`);
    expect(await home.ok(['explain', resource])).toContain(`the security token "${token.label}"`);

    await stopBroker(home);
    expect(await statusOf(signed)).toBe(200);
    for (const file of filesBelow(home.folder)) {
      if (!file.endsWith('.sock')) expect(readFileSync(file, 'utf8'), file).not.toContain(token.pin);
    }
    for (const { stdout, stderr } of home.printed) expect(stdout + stderr).not.toContain(token.pin);
  });

  it('a security token that is away or refuses the PIN loses nothing, and one without the key ends the grant until a sign-in', async () => {
    const signed = await signedIn();
    const { home, resource, token } = signed;
    const asked = ['token', resource, '--dpop', 'POST', '--no-interaction'];
    expect(await home.keyturn(asked)).toMatchObject({ code: 0 });
    await stopBroker(home);
    const connect = token.disconnect();
    const away = await home.keyturn(asked);
    expect(away).toMatchObject({ code: 7, stdout: '' });
    expect(away.stderr).toContain('reason: key_unavailable');
    connect();
    writeFileSync(token.pinFile, '1111');
    expect((await home.keyturn(asked)).stderr).toContain('it refused the PIN');
    writeFileSync(token.pinFile, token.pin);
    expect(await statusOf(signed)).toBe(200);

    await stopBroker(home);
    token.wipe();
    const gone = await home.keyturn(asked);
    expect(gone).toMatchObject({ code: 3, stdout: '' });
    expect(gone.stderr).toContain('its key is gone from the security token');
    expect((await askBroker(home, 'grant.list', {})).grants).toMatchObject([{ state: 'loginRequired' }]);
    await signIn(home, resource);
    expect(await statusOf(signed)).toBe(200);
    // With the grant its key goes.
    await askBroker(home, 'grant.revoke', { resource });
    expect(await home.keyturn(asked)).toMatchObject({ code: 3 });
  });

  it('a security token in the settings is refused with the PIN in its address', async () => {
    const home = newHome();
    const refused = await home.keyturn([
      'settings',
      'keyHolder',
      'pkcs11:token=a?module-path=/m.so&pin-value=1234',
    ]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('without pin-value');
    expect(refused.stderr).not.toContain('1234');
  });
});
