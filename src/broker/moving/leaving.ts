/**
 * Exports grants, and takes exported ones back.
 *
 * Invariants: the vault and the index say that a grant was moved before its tokens are handed out for another machine,
 * so this machine refreshes none that another one may have. The tokens stay in the vault here, so that a crash or a lost
 * file loses no grant. If one grant can't be exported, none is.
 */
import { randomBytes } from 'node:crypto';
import type { Audit } from '../../audit/audit.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyturnError } from '../../base/errors.ts';
import { proofJwkSchema } from '../../oauth/client/proof-key.ts';
import type { GrantSecret } from '../grants/grant-secret.ts';
import type { Grant, Grants } from '../records/grant.ts';
import type { Registrations } from '../records/registrations.ts';
import type { Refresher } from '../tokens/refresher.ts';
import type { TokenCache } from '../tokens/token-cache.ts';
import type { MovedGrant, Parcel } from './parcel.ts';

export interface MovingParts {
  readonly grants: Grants;
  readonly refresher: Refresher;
  readonly registrations: Registrations;
  readonly cache: TokenCache;
  readonly clock: Clock;
  readonly audit: Audit;
}

/**
 * A grant that another machine can go on with: it has a refresh token, and belongs to no program of this machine, nor does
 * its key lie in a token of this machine.
 * `isUnattended`: its client gets tokens without a person, and signs in anew wherever it is entered.
 */
function isMovable({ state, hasRefreshToken, purpose, registrationId }: Grant, parts: MovingParts): boolean {
  const isUnattended = parts.registrations.shown().some(({ id, grant }) => id === registrationId && grant);
  const isOurs = purpose?.kind === 'narrow' || isUnattended;
  return state.kind === 'active' && hasRefreshToken && !isOurs;
}

/** What an export would move, by the index, and which living grants would stay. */
export function exportable(parts: MovingParts): { readonly moving: Grant[]; readonly staying: Grant[] } {
  const living = parts.grants.all().filter(({ state }) => !['revoked', 'moved'].includes(state.kind));
  return {
    moving: living.filter((grant) => isMovable(grant, parts)),
    staying: living.filter((grant) => !isMovable(grant, parts)),
  };
}

/** The grants that were exported, by the index. */
export const movedGrants = ({ grants }: Pick<MovingParts, 'grants'>): Grant[] =>
  grants.all().filter(({ state }) => state.kind === 'moved');

/**
 * Marks every movable grant as moved, and answers with them; `packed` seals them, and is called before anybody learns of
 * the move. If it throws, the grants are taken back. Throws what the vault throws.
 */
export async function exportGrants<T>(
  parts: MovingParts,
  settings: Parcel['settings'],
  packed: (parcel: Parcel) => Promise<T>,
): Promise<{ readonly result: T; readonly moved: readonly Grant[]; readonly staying: readonly Grant[] }> {
  await vouchAll(parts);
  const { moving, staying } = exportable(parts);
  const grants: MovedGrant[] = [];
  try {
    for (const { id } of moving) {
      const grant = await parts.refresher.turns.take(id, () => markMoved(parts, id));
      if (grant) grants.push(grant);
    }
    const registrations = await registrationsOf(parts, grants);
    const parcel = { id: randomBytes(16).toString('hex'), registrations, grants, settings };
    const result = await packed(parcel);
    const moved = moving.filter(({ id }) => grants.some((grant) => grant.id === id));
    for (const grant of moved) await record(parts, grant, 'exported');
    return { result, moved, staying };
  } catch (error) {
    for (const { id } of grants)
      await parts.refresher.turns.take(id, () => comeBack(parts, id)).catch(() => undefined);
    throw error;
  }
}

/** Makes moved grants active again. Throws what the vault throws; a second call goes on. */
export async function takeBack(parts: MovingParts): Promise<Grant[]> {
  await vouchAll(parts);
  const back: Grant[] = [];
  for (const { id } of movedGrants(parts)) {
    const grant = await parts.refresher.turns.take(id, () => comeBack(parts, id));
    if (!grant) continue;
    await record(parts, grant, 'taken back');
    back.push(grant);
  }
  return back;
}

/** What the index says of a grant may be wrong: the vault decides which ones there are, and whether they were moved. */
export async function vouchAll({ registrations, refresher, grants }: MovingParts): Promise<void> {
  await registrations.verify();
  await refresher.secrets.open();
  await refresher.compareWithVault(grants.all());
}

export async function record({ audit }: MovingParts, grant: Grant, outcome: string): Promise<void> {
  const { id, resource, issuer } = grant;
  await audit.record({ event: 'move', outcome, grant: id, resource, issuer });
}

/** Runs in the grant's turn, after a refresh that was under way. Undefined: it is no longer movable. */
async function markMoved(parts: MovingParts, id: string): Promise<MovedGrant | undefined> {
  const { grants, refresher, cache, clock } = parts;
  const before = grants.byId(id);
  // The vault has lost what the index lists.
  if (!before || !isMovable(before, parts) || !refresher.secrets.comparison.isVouched(id)) return undefined;
  const secret = await refresher.secrets.read(id);
  const grant = grants.byId(id);
  const { refreshToken } = secret;
  const proofKey = proofJwkSchema.optional().safeParse(secret.proofKey);
  if (!grant || !isMovable(grant, parts) || refreshToken === undefined || !proofKey.success) return undefined;
  const movedAt = clock.wall();
  const binding = { ...secret.binding, movedAt, generation: grant.generation + 1 };
  try {
    await refresher.secrets.writeBoth(id, { ...secret, binding }, () =>
      grants.change(grant, { state: { kind: 'moved', movedAt } }),
    );
  } catch (error) {
    // The owner may have revoked it meanwhile: its revocation waits for this turn, and has to reach the server.
    await refresher.secrets.write(id, secret).catch(() => undefined);
    throw error;
  }
  cache.dropGrant(id);
  const { offline, liveUntil } = grant;
  return {
    id,
    secret: { ...secret, refreshToken, proofKey: proofKey.data },
    ...(offline === undefined ? {} : { offline }),
    ...(liveUntil === undefined ? {} : { liveUntil }),
  };
}

/** Runs in the grant's turn. Undefined: it isn't moved, so nothing was done. */
async function comeBack({ grants, refresher }: MovingParts, id: string): Promise<Grant | undefined> {
  const { movedAt, ...binding } = (await refresher.secrets.read(id)).binding;
  const grant = grants.byId(id);
  if (movedAt === undefined || grant?.state.kind !== 'moved') return undefined;
  const secret: GrantSecret = {
    ...(await refresher.secrets.read(id)),
    binding: { ...binding, generation: grant.generation + 1 },
  };
  return refresher.secrets.writeBoth(id, secret, () => grants.change(grant, { state: { kind: 'active' } }));
}

/** The clients that the tokens were issued to, each once. */
async function registrationsOf(
  { registrations }: MovingParts,
  grants: readonly MovedGrant[],
): Promise<Parcel['registrations']> {
  const ids = new Set(
    grants.flatMap(({ secret }) => [
      secret.binding.registrationId,
      ...(secret.registrationId === undefined ? [] : [secret.registrationId]),
      ...secret.superseded.flatMap(({ registrationId }) => registrationId ?? []),
    ]),
  );
  const found: Parcel['registrations'] = [];
  for (const id of ids) {
    const known = registrations.byId(id);
    // Nothing can be refreshed without it. Superseded tokens of a client that was removed can't be revoked any more.
    if (!known && grants.some(({ secret }) => secret.binding.registrationId === id)) throw clientGone(id);
    if (!known) continue;
    const secret = await registrations.secret(known);
    const { registration } = known;
    found.push({ record: { id, registration }, ...(secret === undefined ? {} : { secret }) });
  }
  return found;
}

function clientGone(id: string): KeyturnError {
  return new KeyturnError('conflict', `The client ${id} of a grant is gone. Nothing was exported.`, {
    rule: 'RFC 6749 §6: only the client that a refresh token was issued to may use it',
    hint: '`keyturn list` shows the grants. Sign in again where needed (`keyturn login RESOURCE`), then export.',
  });
}
