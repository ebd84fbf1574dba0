/**
 * What a thief can do with an access token that is bound to a DPoP key of the broker (RFC 9449): three tries.
 *
 * Invariant: the thief has all that a program sent over the network, and no more; the key is in the broker's vault.
 */
import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Served } from './served.ts';

/** What the protected server answered to each: the status and its challenge's `error`. */
export interface Tries {
  readonly asBearer: string;
  readonly withOwnKey: string;
  readonly withUsedProof: string;
}

/** `seen`: the program's requests. Throws where none of them has a bound token. */
export async function tryStolen(servers: Served, seen: readonly Request[]): Promise<Tries> {
  const stolen = seen.findLast(({ headers }) => headers.get('authorization')?.startsWith('DPoP '));
  const token = stolen?.headers.get('authorization')?.slice('DPoP '.length);
  const used = stolen?.headers.get('dpop');
  if (token === undefined || !used) throw new Error('The program sent no bound token.');
  const send = async (headers: Record<string, string>): Promise<Response> =>
    servers.fetch(servers.url, {
      method: 'POST',
      body: '{}',
      headers: { ...headers, 'content-type': 'application/json' },
    });
  const bearer = await send({ authorization: `Bearer ${token}` });
  const nonce = bearer.headers.get('dpop-nonce');
  const own = await proofWithOwnKey(servers.url, token, nonce);
  const withOwnKey = await send({ authorization: `DPoP ${token}`, dpop: own });
  const withUsedProof = await send({ authorization: `DPoP ${token}`, dpop: used });
  return { asBearer: told(bearer), withOwnKey: told(withOwnKey), withUsedProof: told(withUsedProof) };
}

function told({ status, headers }: Response): string {
  const error = /\berror="([a-z_]+)"/.exec(headers.get('www-authenticate') ?? '')?.[1];
  return error === undefined ? String(status) : `${status} ${error}`;
}

/** RFC 9449 §4.2: right in each part but the key. */
async function proofWithOwnKey(url: string, token: string, nonce: string | null): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const claims = {
    htm: 'POST',
    htu: url,
    ath: createHash('sha256').update(token).digest('base64url'),
    ...(nonce === null ? {} : { nonce }),
  };
  return new SignJWT(claims)
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: await exportJWK(publicKey) })
    .setJti(randomUUID())
    .setIssuedAt()
    .sign(privateKey);
}
