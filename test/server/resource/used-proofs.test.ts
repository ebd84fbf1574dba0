/** The memory of used proofs: who may fill how much of it, and whose requests that stops. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/server/resource/base/refusal.ts';
import { Dpop } from '../../../src/server/resource/tokens/dpop.ts';
import { UsedProofs } from '../../../src/server/resource/tokens/used-proofs.ts';
import { claims, type Key, newKey, proofOf, resource, start, thumbprintOf } from '../parties.ts';

const lifetime = 66;

function memory(max: number) {
  let now = 0;
  const used = new UsedProofs(max, lifetime, () => now);
  let sent = 0;
  return {
    used,
    to: (at: number) => (now = at),
    /** New proofs of this holder's until one finds no place: how many did. */
    fill: (holder: string): number => {
      const before = sent;
      while (used.add(`proof ${(sent += 1)}`, holder) === 'new');
      return sent - before - 1;
    },
  };
}

describe('the memory of used proofs', () => {
  it('leaves room to other holders when one or three flood it', () => {
    const { used, fill } = memory(16);
    expect(['one', 'two', 'three'].map(fill)).toEqual([8, 4, 2]);
    expect(used.add('mine', 'somebody')).toBe('new');
  });

  it('never has more than its bound, and forgets none before its end', () => {
    const { used, to, fill } = memory(16);
    expect(used.add('mine', 'somebody')).toBe('new');
    let all = 1;
    for (let holder = 0; holder < 100; holder += 1) all += fill(`holder ${holder}`);
    expect(all).toBe(16);
    to(lifetime - 1);
    expect(used.add('mine', 'somebody')).toBe('used');
    expect(used.add('another', 'nobody yet')).toBe('no place');
  });
});

describe('a flood of proofs', () => {
  /** Whether a fresh proof passes, with a memory of four. */
  function sender() {
    const dpop = new Dpop(
      { isRequired: true, algorithms: ['ES256'], maxAgeSeconds: 60, now: () => start },
      4,
    );
    return async (key: Key, { clientId = claims.client_id, subject = claims.sub } = {}): Promise<string> => {
      const keyThumbprint = await thumbprintOf(key);
      const proof = await proofOf(key, 'token');
      const request = {
        method: 'POST',
        url: new URL(resource),
        headers: new Headers({ dpop: proof }),
        connection: { isEncrypted: true },
        readBody: async () => undefined,
      };
      const token = {
        issuer: claims.iss,
        subject,
        clientId,
        scopes: [],
        expiresAt: claims.exp,
        keyThumbprint,
      };
      const credentials = { scheme: 'dpop', token: 'token' } as const;
      const tokenDigest = createHash('sha256').update('token').digest('base64url');
      return dpop
        .check({ request, credentials, token: { ...token, claims: {} }, tokenDigest, url: resource })
        .then(() => 'passed')
        .catch((error: unknown) => (error instanceof Refusal ? error.reason : String(error)));
    };
  }

  it('RS-17: by one client with many keys stops no other account or client', async () => {
    const [one, two, three] = await Promise.all([newKey(), newKey(), newKey()]);
    const send = sender();
    expect([await send(one), await send(two)]).toEqual(['passed', 'passed']);
    expect([await send(one), await send(three)]).toEqual(['proofs_exhausted', 'proofs_exhausted']);
    expect(await send(one, { subject: 'bob' })).toBe('passed');
    expect(await send(three, { clientId: 'other' })).toBe('passed');
  });
});
