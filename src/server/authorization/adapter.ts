/**
 * How oidc-provider keeps its things in our storage.
 *
 * Invariant: a reader of the storage can use no token or code: they are kept under a hash of what their holder shows.
 * A refresh token or code is used up once, also when two requests bring it at the same moment, and by no request for
 * another resource than it was granted for.
 */
import { createHash } from 'node:crypto';
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Storage, StoredItem } from '../storage/storage.ts';
import type { OidcProvider } from './base/peer.ts';
import { managedClient, registrationEnd } from './clients/registered-clients.ts';

/** What a holder shows is the id of these. The others are named by values that give nothing. */
const heldKinds: ReadonlySet<string> = new Set([
  'AccessToken',
  'AuthorizationCode',
  'ClientCredentials',
  'InitialAccessToken',
  'RefreshToken',
  'RegistrationAccessToken',
]);

/** Kinds that end with the grant of a replayed item. */
const grantKinds = ['AccessToken', 'AuthorizationCode', 'RefreshToken', 'Grant'] as const;

export interface AdapterParts {
  readonly storage: Storage;
  readonly errors: OidcProvider['errors'];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** What the request that runs names as `resource`. */
  readonly askedResource: () => unknown;
  /** Seconds in which a used refresh token is answered with the same successor; 0: it is a replay at once. */
  readonly graceSeconds: number;
  /** The code or refresh token that was used again; its grant has ended. */
  readonly onReplay: (used: StoredItem | undefined) => void;
}

export function adapterFor(parts: AdapterParts): (kind: string) => Adapter {
  const { storage, errors, now, onReplay, graceSeconds } = parts;
  /** Two processes of one client may refresh at once. */
  const isInGrace = (kind: string, consumedAt: number | undefined): boolean =>
    kind === 'RefreshToken' && consumedAt !== undefined && seconds() - consumedAt < graceSeconds;
  const seconds = (): number => Math.floor(now() / 1000);
  return (kind) => {
    const isHeld = heldKinds.has(kind);
    const keyOf = (id: string): string => (isHeld ? createHash('sha256').update(id).digest('base64url') : id);
    return {
      async upsert(id, payload, expiresIn) {
        const { jti, ...rest } = payload;
        const { clientId = id } = payload;
        const expiresAt =
          expiresIn === undefined
            ? await registrationEnd(storage, { kind, clientId }, seconds())
            : seconds() + expiresIn;
        const uid = payload.uid ?? managedClient(kind, payload.clientId);
        const item = {
          // The id of a held item is its secret, so the payload must not repeat it.
          payload: isHeld || jti === undefined ? rest : { ...rest, jti },
          ...(expiresAt === undefined ? {} : { expiresAt }),
          ...(payload.grantId === undefined ? {} : { grantId: payload.grantId }),
          ...(uid === undefined ? {} : { uid }),
        };
        if (kind === 'RefreshToken') {
          // The successor that the other of two refreshes got; it may have been used since.
          await storage.add(kind, keyOf(id), item);
          return;
        }
        if (kind !== 'ReplayDetection') return storage.put(kind, keyOf(id), item);
        // RFC 7523 §3. The provider looked for it before; another request may have brought it since then.
        if (!(await storage.add(kind, keyOf(id), item)))
          throw new errors.InvalidClientAuth('the assertion or proof was used already');
      },
      async find(id) {
        const item = await storage.get(kind, keyOf(id));
        if (item === undefined) return undefined;
        const { consumedAt, ...unused } = item;
        return payloadOf(isInGrace(kind, consumedAt) ? unused : item, isHeld ? id : undefined);
      },
      async findByUid(uid) {
        const found = await storage.getByUid(kind, uid);
        return found && payloadOf(found.item, undefined);
      },
      // No device flow here.
      findByUserCode: async () => undefined,
      async consume(id) {
        const key = keyOf(id);
        // The provider compares it only after the item is used up, and a mistake must not cost the sign-in.
        const granted = (await storage.get(kind, key))?.payload['resource'];
        if (!namesGranted(parts.askedResource(), granted)) throw new errors.InvalidTarget();
        if (await storage.consume(kind, key, seconds())) return;
        const used = await storage.get(kind, key);
        if (isInGrace(kind, used?.consumedAt)) return;
        // RFC 9700 §4.14.2: two holders show one token. Either may be the thief, so nobody keeps it.
        if (used?.grantId !== undefined) await endGrant(storage, used.grantId);
        onReplay(used);
        throw new errors.InvalidGrant('it was used already');
      },
      destroy: async (id) => storage.remove(kind, keyOf(id)),
      revokeByGrantId: async (grantId) => storage.removeGrant(kind, grantId),
    };
  };
}

/** RFC 8707 §2.2: a request for a token names no resource, or the one that its code or refresh token was granted for. */
function namesGranted(asked: unknown, granted: unknown): boolean {
  return asked === undefined || asked === '' || (typeof asked === 'string' && asked === granted);
}

/** Ends a grant with everything that it led to. */
export async function endGrant(storage: Storage, grantId: string): Promise<void> {
  await Promise.all(grantKinds.map(async (each) => storage.removeGrant(each, grantId)));
  await storage.remove('Grant', grantId);
}

function payloadOf({ payload, consumedAt }: StoredItem, jti: string | undefined): AdapterPayload {
  return {
    ...payload,
    ...(jti === undefined ? {} : { jti }),
    ...(consumedAt === undefined ? {} : { consumed: consumedAt }),
  };
}
