/**
 * Imports grants that another machine exported.
 *
 * Invariants: an import replaces no grant that works here. A grant is active only after its tokens are in the vault, so
 * after a crash the same import goes on. A grant that came with the same export before is left as it is: its tokens are
 * newer than those of the file. What a grant of the file serves lies within its resource, so that the card, which shows
 * what it serves, shows where its tokens would go.
 */
import { KeyturnError, quoted, RuleRefusal, shellWord } from '../../base/errors.ts';
import { isLoopbackRedirect, requireRegistrationIssuer } from '../../oauth/client/registration.ts';
import { resourceCovers } from '../../oauth/base/resource.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import type { UrlPolicy } from '../../oauth/base/secure-url.ts';
import type { Binding } from '../grants/grant-binding.ts';
import { keptSuperseded } from '../grants/grant-secret.ts';
import type { GrantSecret, Superseded } from '../grants/grant-secret.ts';
import { isLiving, subjectOf } from '../records/grant.ts';
import type { Grant, NamedAccount } from '../records/grant.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { record, vouchAll } from './leaving.ts';
import type { MovingParts } from './leaving.ts';
import { originOf } from './parcel.ts';
import type { Policy } from '../records/policy.ts';
import type { MovedGrant, Parcel } from './parcel.ts';

export interface ArrivingParts extends MovingParts {
  readonly urlPolicy: UrlPolicy;
  readonly policy: Policy;
}

export interface Arrival {
  readonly imported: readonly Grant[];
  /** So many grants came with the same export before. */
  readonly alreadyHere: number;
}

/**
 * Before anybody is asked: refuses, by the index, an import that can't be carried out. Throws `insecure_url`,
 * `policy_refused`, `resource_mismatch`, `file_unreadable`, `issuer_mismatch` and `conflict`.
 */
export function checkParcel(parts: ArrivingParts, parcel: Parcel): readonly MovedGrant[] {
  return parcel.grants.filter((grant) => {
    const { issuer, endpoints } = grant.secret.binding;
    requireSecureUrl(issuer, 'the issuer', parts.urlPolicy);
    parts.policy.refuseGrant(grant.secret.binding, true);
    for (const endpoint of endpoints) requireSecureUrl(endpoint, 'the server', parts.urlPolicy);
    requireOwnEndpoints(grant);
    requireClients(parcel, grant);
    return placeOf(parts, parcel, grant) !== 'here';
  });
}

/** Throws as `checkParcel`, and what the vault throws. */
export async function importGrants(parts: ArrivingParts, parcel: Parcel): Promise<Arrival> {
  await vouchAll(parts);
  const arriving = checkParcel(parts, parcel);
  const clients = await enterClients(parts, parcel, arriving);
  const imported: Grant[] = [];
  for (const grant of arriving) {
    const place = placeOf(parts, parcel, grant);
    if (place === 'here') continue;
    const { id } = place ?? (await addDraft(parts, grant, clients));
    const kept = await parts.refresher.turns.take(id, () => keep(parts, id, { parcel, grant, clients }));
    await record(parts, kept, 'imported');
    imported.push(kept);
  }
  return { imported, alreadyHere: parcel.grants.length - imported.length };
}

/**
 * The grant here that the arriving one replaces; undefined: none. `here`: it came before. Throws `conflict` if another
 * one here works, or has its name.
 */
function placeOf({ grants }: MovingParts, parcel: Parcel, grant: MovedGrant): Grant | 'here' | undefined {
  const { binding } = grant.secret;
  const there = grants.sharedAt(binding.resource, binding.issuer);
  if (there.some(({ origin }) => origin === originOf(parcel, grant))) return 'here';
  const living = there.filter(isLiving);
  const same = living.find((one) => isSameAccount(one, binding));
  const taken = same ?? living.find(({ account }) => account === binding.account);
  if (!taken) return undefined;
  if (!same || !isReplaceable(same)) throw inTheWay(taken);
  return same;
}

/** It gives no token here: its tokens were moved, or need a new sign-in. */
const isReplaceable = ({ state }: Grant): boolean => state.kind === 'moved' || state.kind === 'loginRequired';

/** By the subject; by the name where neither server named a subject. */
function isSameAccount(one: NamedAccount, other: NamedAccount): boolean {
  const subject = subjectOf(one);
  return subject === subjectOf(other) && (subject !== undefined || one.account === other.account);
}

/** Ids of the clients here, by their ids on the other machine. */
type Clients = ReadonlyMap<string, string>;

/** The clients that a grant's tokens were issued to, by their ids on the other machine. */
const clientsOf = ({
  secret: { binding, registrationId, superseded },
}: MovedGrant): (string | undefined)[] => [
  binding.registrationId,
  registrationId,
  ...superseded.map((token) => token.registrationId),
];

/** RFC 9728 §3.3, as at a sign-in. */
function requireOwnEndpoints({ secret: { binding } }: MovedGrant): void {
  const { endpoints, resource } = binding;
  const outside = endpoints.find((endpoint) => !resourceCovers(resource, endpoint));
  if (outside === undefined) return;
  throw new RuleRefusal(
    'resource_mismatch',
    `A grant of the export is for ${quoted(resource)}, and names ${quoted(outside)} as its server. Nothing was imported.`,
    {
      rule: 'RFC 9728 §3.3',
      hint: 'Import only what `keyturn export` wrote on a machine of yours.',
    },
  );
}

/**
 * The person is shown the grants. Later sign-ins would use a client that comes along: so none comes for another issuer,
 * and none whose codes would go to another machine.
 */
function requireClients({ registrations }: Parcel, grant: MovedGrant): void {
  const { issuer, registrationId } = grant.secret.binding;
  if (!registrations.some(({ record: { id } }) => id === registrationId)) throw withoutClient(issuer);
  const ids = new Set(clientsOf(grant));
  for (const { record: entered } of registrations) {
    if (!ids.has(entered.id)) continue;
    requireRegistrationIssuer(entered.registration, { issuer });
    if (!isLoopbackRedirect(entered.registration.redirectUri))
      throw elsewhere(entered.registration.redirectUri);
  }
}

/** A client that is known here with the same secret is used; another one is entered. */
async function enterClients(
  { registrations }: MovingParts,
  parcel: Parcel,
  arriving: readonly MovedGrant[],
): Promise<Clients> {
  const needed = new Set(arriving.flatMap(clientsOf));
  const clients = new Map<string, string>();
  for (const { record: entered, secret } of parcel.registrations.filter(({ record: { id } }) =>
    needed.has(id),
  )) {
    const { registration } = entered;
    const isSame = async (known: RegistrationRecord): Promise<boolean> =>
      known.grant === undefined &&
      known.registration.issuer === registration.issuer &&
      known.registration.clientId === registration.clientId &&
      (await registrations.secret(known)) === secret;
    let id: string | undefined;
    for (const known of registrations.all()) id ??= (await isSame(known)) ? known.id : undefined;
    clients.set(entered.id, id ?? (await registrations.add(registration, secret)).id);
  }
  return clients;
}

/** Written first, as in a sign-in: a crash before the vault has the tokens leaves no grant that looks usable. */
async function addDraft({ grants }: MovingParts, { secret }: MovedGrant, clients: Clients): Promise<Grant> {
  const { loginHint: _, ...binding } = secret.binding;
  return grants.add({
    ...binding,
    registrationId: clientOf(clients, binding.registrationId),
    state: { kind: 'loginRequired', why: 'its import was not finished', cause: 'importUnfinished' },
    hasRefreshToken: false,
  });
}

interface Arriving {
  readonly parcel: Parcel;
  readonly grant: MovedGrant;
  readonly clients: Clients;
}

/** Runs in the grant's turn. */
async function keep(parts: MovingParts, id: string, { parcel, grant, clients }: Arriving): Promise<Grant> {
  const { grants, refresher, cache, clock } = parts;
  const before = await refresher.secrets.readIfThere(id);
  const current = grants.byId(id);
  if (!current || !isReplaceable(current)) throw changedMeanwhile(grant);
  const { secret, offline, liveUntil } = grant;
  const registrationId = clientOf(clients, secret.registrationId ?? secret.binding.registrationId);
  const binding: Binding = {
    ...secret.binding,
    account: current.account,
    endpoints: [...new Set([...(before?.binding.endpoints ?? []), ...secret.binding.endpoints])],
    registrationId: clientOf(clients, secret.binding.registrationId),
    origin: originOf(parcel, grant),
    generation: current.generation + 1,
  };
  const superseded = keptSuperseded(
    [
      ...tokensOf(before),
      ...secret.superseded.flatMap((token) => underOwnClient(token, clients, registrationId)),
    ],
    clock.wall(),
  );
  const { loginHint: _, generation: _generation, revokedAt: _end, movedAt: _move, ...indexed } = binding;
  const kept = await refresher.secrets.writeBoth(id, { ...secret, registrationId, superseded, binding }, () =>
    grants.change(current, {
      ...indexed,
      state: { kind: 'active' },
      hasRefreshToken: true,
      isKeyBound: secret.proofKey ? true : undefined,
      attempt: undefined,
      ...(offline === undefined ? {} : { offline }),
      ...(liveUntil === undefined ? {} : { liveUntil }),
    }),
  );
  refresher.succeeded(id);
  cache.dropGrant(id);
  return kept;
}

/** The tokens of a grant that needs a sign-in are revoked with it. Those of a moved one are older than the file's. */
function tokensOf(before: GrantSecret | undefined): Superseded[] {
  if (!before || before.binding.movedAt !== undefined) return [];
  const { refreshToken, registrationId = before.binding.registrationId, superseded } = before;
  const own: Superseded[] =
    refreshToken === undefined ? [] : [{ value: refreshToken, hint: 'refresh_token', registrationId }];
  return [...superseded, ...own];
}

/** Under the ids of the clients here. A token of a client that did not come along can't be revoked. */
function underOwnClient(token: Superseded, clients: Clients, own: string): Superseded[] {
  if (token.registrationId === undefined) return [{ ...token, registrationId: own }];
  const registrationId = clients.get(token.registrationId);
  return registrationId === undefined ? [] : [{ ...token, registrationId }];
}

function clientOf(clients: Clients, id: string): string {
  const entry = clients.get(id);
  if (entry !== undefined) return entry;
  throw new KeyturnError('internal', 'a client of the import is missing');
}

function inTheWay({ id, endpoints, resource, account, state }: Grant): KeyturnError {
  const place = endpoints[0] ?? resource;
  return new KeyturnError(
    'conflict',
    `A grant for ${place} as ${quoted(account)} is here already. Nothing was imported.`,
    {
      rule: 'An import replaces no grant that works here, and no other account of the same name',
      hint:
        state.kind === 'moved'
          ? `Take your own export back: keyturn export --cancel. Or end that grant: keyturn revoke ${shellWord(id)}`
          : `End that grant first: keyturn revoke ${shellWord(id)}. Or keep it, and take the export back where it was made: keyturn export --cancel`,
    },
  );
}

function changedMeanwhile({ secret }: MovedGrant): KeyturnError {
  return new KeyturnError('conflict', `The grant for ${secret.binding.resource} changed during the import.`, {
    hint: 'Run the import again: what it has imported stays as it is.',
  });
}

function elsewhere(redirectUri: string): RuleRefusal {
  return new RuleRefusal(
    'insecure_url',
    `A client of the export has the redirect URI ${quoted(redirectUri)}. Nothing was imported.`,
    {
      rule: 'RFC 8252 §7.3: a loopback redirect URI with a port',
      hint: 'Import only what `keyturn export` wrote on a machine of yours.',
    },
  );
}

function withoutClient(issuer: string): KeyturnError {
  return new KeyturnError(
    'file_unreadable',
    `The export lacks the client that its grant at ${issuer} needs.`,
    {
      rule: 'RFC 6749 §6: only the client that a refresh token was issued to may use it',
      hint: 'Take the export back where it was made (`keyturn export --cancel`), and export again.',
    },
  );
}
