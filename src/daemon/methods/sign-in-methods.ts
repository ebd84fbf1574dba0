/** The methods about grants: what there is, its end, and a sign-in that the owner starts. */
import type { Broker } from '../../broker/broker.ts';
import { serves } from '../../broker/consent/grant-choice.ts';
import type { Grant } from '../../broker/records/grant.ts';
import { revokeGrant } from '../../broker/revocation/revoker.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { explanationAnswer, grantAnswer, receiptAnswer } from './answers.ts';
import type { Handlers, Services } from './services.ts';

/** How long `signIn.start` waits for the user unless told otherwise, in seconds. */
const defaultTimeout = 600;

/** Rows of a grant's timeline: about a day of a busy grant, and it fits a terminal. */
const timelineRows = 40;

export const signInMethods: Pick<
  Handlers,
  'signIn.list' | 'signIn.show' | 'signIn.revoke' | 'signIn.start' | 'signIn.issuer' | 'signIn.answer'
> = {
  'signIn.list': ({ broker }, caller) => ({
    signIns: visibleGrants(broker, caller).map((grant) => grantAnswer(broker, grant, caller)),
  }),

  'signIn.show': async (services, caller, params) => {
    const { broker, trail } = services;
    const grants: ResultOf<'signIn.show'>['signIns'] = [];
    for (const grant of namedGrants(broker, caller, params)) {
      if (isVaultAtHand(services)) await broker.parts.refresher.secrets.look(grant);
      const rows = await trail.about(grant.id, timelineRows);
      // As it is now: reading the log took a while.
      const current = broker.parts.grants.shown().find(({ id }) => id === grant.id) ?? grant;
      grants.push(explanationAnswer(broker, current, caller, rows));
    }
    return { signIns: grants };
  },

  'signIn.revoke': async ({ broker }, caller, params) => {
    const grants = namedGrants(broker, caller, params).filter((grant) => !isOver(grant));
    const revoked: ResultOf<'signIn.revoke'>['revoked'] = [];
    for (const grant of grants) {
      const { grant: ended, receipt } = await revokeGrant(broker.parts, grant);
      revoked.push(receiptAnswer(broker, ended, receipt));
    }
    return { revoked };
  },

  'signIn.start': async ({ broker, signIns }, caller, params) => {
    const grant = await broker.login({
      resource: params.resource,
      ...(params.scope === undefined ? {} : { scope: parseScope(params.scope) }),
      account: params.account,
      issuer: params.issuer,
      isNewClient: params.newClient,
      method: params.method ?? 'browser',
      starter: signIns.starterOf(caller),
      timeout: (params.timeout ?? defaultTimeout) * 1000,
      signal: caller.signal,
    });
    return { signIn: grantAnswer(broker, grant, caller) };
  },

  'signIn.issuer': ({ broker }, _caller, { resource, issuer }) => broker.issuerOf({ resource, issuer }),

  'signIn.answer': ({ broker, signIns }, caller, { id, redirect }) => {
    const question = broker.parts.interactions.find(id)?.question;
    if (question && !signIns.mayFinish(caller, question)) throw startedElsewhere();
    const page = broker.signInPage(id);
    if (redirect === undefined) page.showsError();
    else page.paste(redirect);
    return {};
  },
};

function startedElsewhere(): KeyturnError {
  return new KeyturnError('not_permitted', 'Another app started this sign-in.', {
    rule: 'While the Keyturn app is running, a sign-in is finished by the app that started it, or in Keyturn’s window',
    hint: 'Paste the address in Keyturn’s window, or start a sign-in with: keyturn login URL --paste',
  });
}

const isOver = (grant: Grant): boolean => grant.state.kind === 'revoked' && grant.state.receipt !== 'pending';

/** An explanation never makes a keychain ask: the vault is asked only where it is open anyway. */
function isVaultAtHand(services: Services): boolean {
  const { vault, vaultState } = services.status();
  return vault === 'memory' || vaultState.state === 'open' || vaultState.state === 'slow';
}

/** An app sees the grants that serve it under one of its permissions. */
function visibleGrants(broker: Broker, caller: Caller): readonly Grant[] {
  const { grants, permissions, leases, clock } = broker.parts;
  if (caller.role === 'owner') return grants.shown();
  const now = clock.wall();
  const leased = leases.of(caller.appId, now).map(({ permission }) => permission);
  const allowed = [...permissions.of(caller.appId, now), ...leased];
  return grants
    .all()
    .filter((grant) =>
      allowed.some((permission) => serves(permission, grant, grants.forEndpoint(permission.endpoint))),
    );
}

/** Throws `not_found` if no grant is called so, or has the account; names no account that the caller may not see. */
function namedGrants(
  broker: Broker,
  caller: Caller,
  { id: grant, resource, account }: ParamsOf<'signIn.revoke'>,
): Grant[] {
  const name = grant ?? broker.canonical(resource ?? '');
  const visible = visibleGrants(broker, caller);
  const named = broker.parts.grants.named(name).filter((each) => visible.includes(each));
  const found = named.filter((each) => account === undefined || each.account === account);
  if (account === undefined || named.length === 0 || found.length > 0) return found;
  const accounts = [...new Set(named.map((each) => quoted(each.account)))];
  throw new KeyturnError('not_found', `No sign-in for ${quoted(name)} has the account ${quoted(account)}.`, {
    hint: `The accounts there: ${accounts.join(', ')}.`,
  });
}
