/** The methods about sign-ins: what there is, its end, and a new one that the user starts. */
import type { Broker } from '../../broker/broker.ts';
import { serves } from '../../broker/consent/sign-in-choice.ts';
import type { SignIn } from '../../broker/records/sign-in.ts';
import { revokeSignIn } from '../../broker/revocation/revoker.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { explanationAnswer, signInAnswer, receiptAnswer } from './answers.ts';
import type { Handlers, Services } from './services.ts';

/** How long `signIn.start` waits for the user unless told otherwise, in seconds. */
const defaultTimeout = 600;

/** Rows of a sign-in's timeline: about a day of a busy one, and it fits a terminal. */
const timelineRows = 40;

export const signInMethods = {
  'signIn.list': ({ broker }, caller) => ({
    signIns: visibleSignIns(broker, caller).map((signIn) => signInAnswer(broker, signIn, caller)),
  }),

  'signIn.show': async (services, caller, params) => {
    const { broker, trail } = services;
    const signIns: ResultOf<'signIn.show'>['signIns'][number][] = [];
    for (const signIn of namedSignIns(broker, caller, params)) {
      if (isVaultAtHand(services)) await broker.parts.refresher.secrets.look(signIn);
      const rows = await trail.about(signIn.id, timelineRows);
      // As it is now: reading the log took a while.
      const current = broker.parts.signIns.shown().find(({ id }) => id === signIn.id) ?? signIn;
      signIns.push(explanationAnswer(broker, current, caller, rows));
    }
    return { signIns };
  },

  'signIn.revoke': async ({ broker }, caller, params) => {
    const signIns = namedSignIns(broker, caller, params).filter((signIn) => !isOver(signIn));
    const revoked: ResultOf<'signIn.revoke'>['revoked'][number][] = [];
    for (const signIn of signIns) {
      const { signIn: ended, receipt } = await revokeSignIn(broker.parts, signIn);
      revoked.push(receiptAnswer(broker, ended, receipt));
    }
    return { revoked };
  },

  'signIn.start': async ({ broker, signIns }, caller, params) => {
    const signIn = await broker.login({
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
    return { signIn: signInAnswer(broker, signIn, caller) };
  },

  'signIn.issuer': ({ broker }, _caller, { resource, issuer }) => broker.issuerOf({ resource, issuer }),

  'signIn.answer': ({ broker, signIns }, caller, { id, redirect }) => {
    const question = broker.parts.approvalRequests.find(id)?.question;
    if (question && !signIns.mayFinish(caller, question))
      throw new KeyturnError('not_permitted', 'This command did not start this sign-in.', {
        rule: 'While the Keyturn app is running, a sign-in is finished by the command that started it, or in Keyturn’s window',
        hint: 'Paste the address in Keyturn’s window, or start a sign-in with: keyturn login URL --paste',
      });
    const page = broker.signInPage(id);
    if (redirect === undefined) page.showsError();
    else page.paste(redirect);
  },
} satisfies Partial<Handlers>;

const isOver = (signIn: SignIn): boolean =>
  signIn.state.kind === 'revoked' && signIn.state.receipt !== 'pending';

/** An explanation never makes a keychain ask: the vault is asked only where it is open anyway. */
function isVaultAtHand(services: Services): boolean {
  const { vault, vaultState } = services.status();
  return vault === 'memory' || vaultState.state === 'open' || vaultState.state === 'slow';
}

/** An app sees the sign-ins that serve it under one of its permissions. */
function visibleSignIns(broker: Broker, caller: Caller): readonly SignIn[] {
  const { signIns, permissions, temporaryPermissions, clock } = broker.parts;
  if (caller.role === 'owner') return signIns.shown();
  const now = clock.wall();
  const forNow = temporaryPermissions.of(caller.appId, now).map(({ permission }) => permission);
  const allowed = [...permissions.of(caller.appId, now), ...forNow];
  return signIns
    .all()
    .filter((signIn) =>
      allowed.some((permission) => serves(permission, signIn, signIns.forEndpoint(permission.endpoint))),
    );
}

/** Throws `not_found` if no sign-in is called so, or has the account; names no account that the caller may not see. */
function namedSignIns(
  broker: Broker,
  caller: Caller,
  { id: signInId, resource, account }: ParamsOf<'signIn.revoke'>,
): SignIn[] {
  const name = signInId ?? broker.canonical(resource ?? '');
  const visible = visibleSignIns(broker, caller);
  const named = broker.parts.signIns.named(name).filter((each) => visible.includes(each));
  const found = named.filter((each) => account === undefined || each.account === account);
  if (account === undefined || named.length === 0 || found.length > 0) return found;
  const accounts = [...new Set(named.map((each) => quoted(each.account)))];
  throw new KeyturnError('not_found', `No sign-in for ${quoted(name)} has the account ${quoted(account)}.`, {
    hint: `The accounts there: ${accounts.join(', ')}.`,
  });
}
