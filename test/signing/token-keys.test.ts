/** Keys in a security token, by the real module of SoftHSM in the real child process. */
import { createPublicKey, verify } from 'node:crypto';
import { chownSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Child } from '../../src/base/system/child.ts';
import { tokenPlace } from '../../src/signing/base/holder-uri.ts';
import type { SigningKey, TokenKey, TokenPlace } from '../../src/signing/base/signing-key.ts';
import { tokenKeySchema } from '../../src/signing/base/signing-key.ts';
import { forkSigner, TokenKeys } from '../../src/signing/pkcs11/token-keys.ts';
import type { SignerOptions } from '../../src/signing/pkcs11/signer-process.ts';
import { type SoftToken, softToken } from '../support/processes/security-token.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Stage {
  readonly token: SoftToken;
  readonly place: TokenPlace;
  readonly keys: TokenKeys;
  readonly children: Child[];
  /** PINs that a process was told, in order. */
  readonly pins: string[];
  /** What the vault keeps of a key. */
  readonly keptOf: (key: SigningKey) => TokenKey;
}

function stage(more: Partial<SignerOptions> = {}, token = softToken()): Stage {
  const place = tokenPlace(token.uri);
  if (!place) throw new Error('the address of the token is none');
  const children: Child[] = [];
  const pins: string[] = [];
  const keys = new TokenKeys({
    spawn: () => {
      const child = forkSigner({ ...process.env, ...token.env });
      children.push(child);
      const post = (message: unknown): void => {
        const { pin } = message as { pin?: string };
        if (pin !== undefined) pins.push(pin);
        child.post(message);
      };
      return { ...child, post };
    },
    pinOf: async ({ pinFile }) => (pinFile === undefined ? undefined : readFileSync(pinFile, 'utf8').trim()),
    ...more,
  });
  onTestFinished(() => keys.close());
  return { token, place, keys, children, pins, keptOf: (key) => tokenKeySchema.parse(key.kept) };
}

const data = Buffer.from('header.claims');

async function isGood(key: SigningKey): Promise<boolean> {
  const publicKey = createPublicKey({ key: { ...key.jwk }, format: 'jwk' });
  return verify('sha256', data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, await key.sign(data));
}

const unavailable = (text: string) => ({
  reason: 'key_unavailable',
  message: expect.stringContaining(text) as string,
});

describe('a key in a token', () => {
  it('a key in a token signs what its public half verifies, and the vault’s form brings it back in another process', async () => {
    const { keys, place, keptOf, token, pins } = stage();
    const key = await keys.make(place);
    expect(await isGood(key)).toBe(true);
    const kept = keptOf(key);
    expect(Object.keys(kept)).not.toContain('d');
    expect(JSON.stringify(kept)).not.toContain(token.pin);
    expect(pins).toEqual([token.pin]);
    const again = stage({}, token).keys.open(kept);
    expect(again.jwk).toEqual(key.jwk);
    expect(await isGood(again)).toBe(true);
  });

  it('a key in a token outlives a process that dies, and one that hangs', async () => {
    const { keys, place, children } = stage();
    const key = await keys.make(place);
    children[0]?.kill();
    await expect.poll(async () => isGood(key).catch(() => false)).toBe(true);
    expect(children).toHaveLength(2);
    // One process serves many calls, over many collections of its memory, and each call leaves nothing behind.
    const warnings: unknown[] = [];
    const note = (warning: unknown): void => void warnings.push(warning);
    process.on('warning', note);
    for (let times = 0; times < 2500; times += 1) await key.sign(data);
    process.off('warning', note);
    expect({ warnings, started: children.length }).toEqual({ warnings: [], started: 2 });
    const hanging = stage({ timeout: 50, spawn: () => ({ ...silent }) });
    await expect(hanging.keys.make(hanging.place)).rejects.toMatchObject(
      unavailable('gave no answer in time'),
    );
  });

  it('a key in a token is lost only if the token is there and says so', async () => {
    const { keys, place, token } = stage();
    const key = await keys.make(place);
    const connect = token.disconnect();
    keys.close();
    await expect(key.sign(data)).rejects.toMatchObject(unavailable('it isn’t there'));
    connect();
    expect(await isGood(key)).toBe(true);
    token.wipe();
    keys.close();
    await expect(key.sign(data)).rejects.toMatchObject({ reason: 'key_lost' });
  });

  it('a key in a token that is removed is gone, and removing it twice does no harm', async () => {
    const { keys, place, keptOf } = stage();
    const [first, second] = [await keys.make(place), await keys.make(place)];
    await keys.remove(keptOf(first));
    await keys.remove(keptOf(first));
    await expect(first.sign(data)).rejects.toMatchObject({ reason: 'key_lost' });
    expect(await isGood(second)).toBe(true);
  });
});

/** A stand-in for a module that hangs: SoftHSM can't be made to. */
const silent: Child = {
  post: () => undefined,
  onMessage: () => undefined,
  onExit: () => undefined,
  kill: () => undefined,
};

describe('a PIN', () => {
  it('a PIN that the token refused isn’t sent again, and another one is', async () => {
    const { keys, place, token, pins } = stage();
    writeFileSync(token.pinFile, '1111111111');
    for (let times = 0; times < 3; times += 1)
      await expect(keys.make(place)).rejects.toMatchObject(unavailable('it refused the PIN'));
    expect(pins).toEqual(['1111111111']);
    writeFileSync(token.pinFile, token.pin);
    expect(await isGood(await keys.make(place))).toBe(true);
  });

  it('a PIN that nobody named is asked for by name', async () => {
    const { keys, place } = stage({ pinOf: async () => undefined });
    await expect(keys.make(place)).rejects.toMatchObject({
      ...unavailable('wants its PIN'),
      hint: expect.stringContaining('pin-source=file:PATH') as string,
    });
  });
});

describe('a module', () => {
  it.each([
    ['that isn’t there', () => '/nonexistent/module.so'],
    ['that is a library of something else', () => '/lib/x86_64-linux-gnu/libm.so.6'],
    [
      'that belongs to the user',
      () => {
        const copy = path.join(temporaryFolder(), 'module.so');
        copyFileSync('/usr/lib/softhsm/libsofthsm2.so', copy);
        chownSync(copy, 1000, 1000);
        return copy;
      },
    ],
    [
      'that lies in a folder of the user’s',
      () => {
        const folder = temporaryFolder();
        const copy = path.join(folder, 'module.so');
        copyFileSync('/usr/lib/softhsm/libsofthsm2.so', copy);
        chownSync(copy, 0, 0);
        chownSync(folder, 1000, 1000);
        return copy;
      },
    ],
  ])('a module %s is refused, and the next request may go to another', async (_which, file) => {
    const { keys, place } = stage();
    await expect(keys.make({ ...place, module: file() })).rejects.toMatchObject(
      unavailable('its module doesn’t load'),
    );
    expect(await isGood(await keys.make(place))).toBe(true);
  });
});
