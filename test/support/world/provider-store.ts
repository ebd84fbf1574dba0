/**
 * What the authorization server remembers, in memory.
 *
 * Invariant: a store belongs to one server and dies with it; ids are unique within a kind; whatever
 * was issued under a grant is found by that grant. Expiry is the provider's business: it compares
 * `exp` itself at every read.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider';

/** Kinds that a test or the demo may have forgotten, as if an administrator had ended them. */
export type ForgettableKind = 'AccessToken' | 'RefreshToken' | 'Grant' | 'Client';

export interface ProviderStore {
  /** The provider's adapter for one kind of thing. */
  adapter(kind: string): Adapter;
  /** Removes everything of one kind; answers how many there were. */
  forget(kind: ForgettableKind): number;
  /** True for a refresh token that was never presented, or whose grace is not over. */
  honours(refreshToken: string): boolean;
  /** Every token and code that was ever issued, in order: the id of an opaque one is what its holder shows. */
  readonly issued: readonly string[];
}

const shownKinds: ReadonlySet<string> = new Set(['AccessToken', 'RefreshToken', 'AuthorizationCode']);

/**
 * `refreshGrace`: seconds in which a refresh token may be presented again after its first use, because
 * the answer to it may have been lost (RFC 9700 §4.14.2 leaves that to the server).
 */
export function createProviderStore(refreshGrace = 0): ProviderStore {
  const kinds = new Map<string, Map<string, AdapterPayload>>();
  const itemsOf = (kind: string): Map<string, AdapterPayload> => {
    const known = kinds.get(kind);
    if (known) return known;
    const created = new Map<string, AdapterPayload>();
    kinds.set(kind, created);
    return created;
  };
  const issued: string[] = [];
  return {
    issued,
    adapter: (kind) =>
      adapterOver(itemsOf(kind), {
        grace: kind === 'RefreshToken' ? refreshGrace : 0,
        onUpsert: (id) => {
          if (shownKinds.has(kind)) issued.push(id);
        },
      }),
    forget(kind) {
      const items = itemsOf(kind);
      const count = items.size;
      items.clear();
      return count;
    },
    honours: (refreshToken) => {
      const found = itemsOf('RefreshToken').get(refreshToken);
      return found !== undefined && withGrace(found, refreshGrace).consumed === undefined;
    },
  };
}

const now = (): number => Math.floor(Date.now() / 1000);

/** Consumed only once its grace (seconds) is over. */
function withGrace(payload: AdapterPayload, grace: number): AdapterPayload {
  if (typeof payload.consumed !== 'number' || now() - payload.consumed >= grace) return payload;
  const { consumed: _used, ...unused } = payload;
  return unused;
}

interface AdapterOptions {
  /** Seconds in which a first use isn't counted yet. */
  readonly grace: number;
  readonly onUpsert: (id: string) => void;
}

function adapterOver(items: Map<string, AdapterPayload>, { grace, onUpsert }: AdapterOptions): Adapter {
  const firstWith = (field: 'uid' | 'userCode', value: string): AdapterPayload | undefined =>
    items.values().find((payload) => payload[field] === value);
  return {
    async upsert(id, payload) {
      items.set(id, payload);
      onUpsert(id);
    },
    async find(id) {
      const payload = items.get(id);
      return payload && withGrace(payload, grace);
    },
    async findByUid(uid) {
      return firstWith('uid', uid);
    },
    async findByUserCode(userCode) {
      return firstWith('userCode', userCode);
    },
    async consume(id) {
      const payload = items.get(id);
      // The grace counts from the first use.
      if (payload) payload.consumed ??= now();
    },
    async destroy(id) {
      items.delete(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, payload] of items) {
        if (payload.grantId === grantId) items.delete(id);
      }
    },
  };
}
