/**
 * The methods of the wire, each bound to the broker: one table, one line of sight from name to deed.
 *
 * Invariant: params come from their schema, the permit stands beside each method in ipc/protocol.ts
 * and is checked here before anything runs, and no answer but `token.get` holds a secret.
 */
import type { Broker } from '../broker/broker.ts';
import type { Grant } from '../broker/grant.ts';
import { cliClientId } from '../broker/local-client.ts';
import { revokeGrant } from '../broker/revoker.ts';
import type { ClientChallenge } from '../broker/token-request.ts';
import { KeyturnError, quoted } from '../errors.ts';
import { isMethod, methods } from '../ipc/protocol.ts';
import type { MethodName, ParamsOf, ResultOf } from '../ipc/protocol.ts';
import type { Caller } from '../ipc/server.ts';
import { bearerChallenge } from '../oauth/challenge.ts';
import { parseScope } from '../oauth/scope.ts';
import { clientAnswers, grantAnswer, interactionAnswer, settingAnswer, tokenAnswer } from './answers.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Settings } from './settings.ts';

/** How long `token.get` and `login.start` wait for the user unless told otherwise, in seconds. */
const defaultTimeout = { token: 300, login: 600 } as const;

/** What the methods need of their host besides the broker. */
export interface Host {
  readonly broker: Broker;
  readonly settings: Settings;
  readonly trail: Pick<AuditTrail, 'tail' | 'verify'>;
  status(): ResultOf<'status'>;
  changeSetting(name: string, value: unknown): Promise<void>;
  subscribe(caller: Caller): void;
  closeConnectionsOf(clientId: string): void;
  register(params: ParamsOf<'registration.set'>): Promise<ResultOf<'registration.set'>>;
  /** Stops the daemon once the answer has left. */
  stop(): void;
}

type Handlers = {
  readonly [M in MethodName]: (
    host: Host,
    caller: Caller,
    params: ParamsOf<M>,
  ) => Promise<ResultOf<M>> | ResultOf<M>;
};

/** Answers one authenticated request. Throws KeyturnError with a stable reason. */
export async function dispatch(
  host: Host,
  caller: Caller,
  method: string,
  params: unknown,
): Promise<unknown> {
  if (!isMethod(method)) {
    throw new KeyturnError('method_not_found', `There is no method ${quoted(method)}.`, {
      hint: 'docs/wire.md lists the methods; the other side may be newer.',
    });
  }
  if (methods[method].who === 'owner' && caller.role !== 'owner') {
    throw new KeyturnError('not_permitted', `${method} is for the owner of this home.`, {
      hint: 'Use the keyturn command.',
    });
  }
  const parsed = methods[method].params.safeParse(params ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new KeyturnError(
      'invalid_request',
      `${method}: ${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'bad value'}.`,
      {
        hint: 'docs/wire.md shows what the method takes.',
      },
    );
  }
  // The table binds each name to a handler of its own params; the compiler can't follow the lookup.
  const handler = handlers[method] as (host: Host, caller: Caller, params: unknown) => unknown;
  return handler(host, caller, parsed.data);
}

const handlers: Handlers = {
  'token.get': async ({ broker }, caller, params) => {
    const token = await broker.getToken({
      clientId: brokerClientId(caller),
      resource: params.resource,
      ...(params.scope === undefined ? {} : { scope: parseScope(params.scope) }),
      ...(params.account === undefined ? {} : { account: params.account }),
      ...(params.minimumValidity === undefined ? {} : { minimumValidity: params.minimumValidity * 1000 }),
      ...(params.challenge === undefined ? {} : { challenge: challengeFrom(params.challenge) }),
      ...(params.operation === undefined ? {} : { operation: params.operation }),
      // Unattended requests wait for nobody: opening a page or a question is asked for in so many words.
      interaction: params.interaction ?? 'never',
      timeout: (params.timeout ?? defaultTimeout.token) * 1000,
      signal: caller.signal,
    });
    return tokenAnswer(broker, token);
  },

  'token.reject': ({ broker }, caller, params) => {
    // protocol.ts refuses a request that names neither or both.
    const token =
      params.tokenId === undefined ? { accessToken: params.access_token ?? '' } : { tokenId: params.tokenId };
    // Only a 401 says that the token itself is bad; a 403 wants another scope, not another token.
    if (params.status !== 401) return { rejected: false };
    return { rejected: broker.rejectToken({ clientId: brokerClientId(caller), token }).counted };
  },

  'permission.release': async ({ broker }, caller, { resource }) => {
    await endPermission(broker, brokerClientId(caller), broker.canonical(resource), 'released');
    return {};
  },

  'grant.list': ({ broker }, caller) => ({
    grants: visibleGrants(broker, caller).map((grant) => grantAnswer(broker, grant, caller)),
  }),

  'grant.revoke': async ({ broker }, caller, params) => {
    const named = broker.parts.grants.named(grantName(broker, params), params.account);
    const visible = visibleGrants(broker, caller);
    const grants = named.filter((grant) => visible.includes(grant) && !isOver(grant));
    const revoked: ResultOf<'grant.revoke'>['revoked'] = [];
    for (const grant of grants) {
      const { receipt } = await revokeGrant(broker.parts, grant);
      revoked.push({
        id: grant.id,
        resource: grant.resource,
        issuer: grant.issuer,
        account: grant.account,
        receipt,
      });
    }
    return { revoked };
  },

  'client.list': ({ broker }) => ({ clients: clientAnswers(broker) }),

  'client.remove': async (host, _caller, { client }) => {
    const { clients, permissions, audit } = host.broker.parts;
    const id = clients.resolve(client);
    const name = clients.nameOf(id);
    await permissions.endAllOf(id);
    await clients.remove(id);
    await audit.record({ event: 'client', outcome: 'removed', client: name });
    host.closeConnectionsOf(id);
    return {};
  },

  'permission.set': async ({ broker }, _caller, params) => {
    const endpoint = broker.canonical(params.resource);
    await broker.consent.decide({
      clientId: broker.parts.clients.resolve(params.client),
      endpoint,
      decision: params.decision,
      ...(params.scope === undefined ? {} : { scope: parseScope(params.scope) }),
      ...(params.until === undefined ? {} : { until: params.until * 1000 }),
      createdAt: broker.parts.clock.now(),
    });
    broker.userActed(endpoint);
    return {};
  },

  'permission.end': async ({ broker }, _caller, { client, resource }) => {
    const clientId = broker.parts.clients.resolve(client);
    await endPermission(broker, clientId, broker.canonical(resource), 'ended');
    return {};
  },

  'registration.set': (host, _caller, params) => host.register(params),

  'settings.get': ({ settings }) => ({ settings: settingAnswer(settings) }),

  'settings.set': async (host, _caller, { name, value }) => {
    await host.changeSetting(name, value);
    return {};
  },

  'interaction.list': ({ broker }) => ({
    interactions: broker.parts.interactions.list().map(interactionAnswer),
  }),

  'interaction.answer': ({ broker }, _caller, { id, answer }) => {
    broker.parts.interactions.answer(id, answer);
    return {};
  },

  'login.answer': ({ broker }, _caller, { id, redirect }) => {
    broker.answerLogin(id, redirect);
    return {};
  },

  'override.set': async ({ broker }, _caller, { server, name, on }) => {
    const { overrides, servers, audit } = broker.parts;
    for (const spelling of spellings(broker, server)) await overrides.set(spelling, name, on);
    servers.forget();
    await audit.record({ event: 'override', outcome: `${name} ${on ? 'on' : 'off'}`, endpoint: server });
    return {};
  },

  'login.start': async ({ broker }, caller, params) => {
    const grant = await broker.login({
      resource: params.resource,
      ...(params.scope === undefined ? {} : { scope: parseScope(params.scope) }),
      ...(params.account === undefined ? {} : { account: params.account }),
      ...(params.issuer === undefined ? {} : { issuer: params.issuer }),
      method: params.method ?? 'browser',
      timeout: (params.timeout ?? defaultTimeout.login) * 1000,
      signal: caller.signal,
    });
    return { grant: grantAnswer(broker, grant, caller) };
  },

  'audit.tail': ({ trail }, _caller, { count }) => trail.tail(count),

  'audit.verify': ({ trail }) => trail.verify(),

  status: (host) => host.status(),

  'daemon.stop': (host) => {
    host.stop();
    return {};
  },

  subscribe: (host, caller) => {
    host.subscribe(caller);
    return {};
  },
};

/** The owner asks for tokens as the local client `cli`, which needs a permission like any other. */
const brokerClientId = (caller: Caller): string => (caller.role === 'owner' ? cliClientId : caller.clientId);

const isOver = (grant: Grant): boolean => grant.state.kind === 'revoked' && grant.state.receipt !== 'pending';

function challengeFrom({
  status,
  wwwAuthenticate,
}: {
  status: 401 | 403;
  wwwAuthenticate?: string | undefined;
}): ClientChallenge {
  const bearer = wwwAuthenticate === undefined ? undefined : bearerChallenge(wwwAuthenticate);
  return bearer === undefined ? { status } : { status, bearer };
}

/** A local client sees the grants that one of its permissions reaches. */
function visibleGrants(broker: Broker, caller: Caller): readonly Grant[] {
  const { grants, permissions, clock } = broker.parts;
  if (caller.role === 'owner') return grants.all();
  const allowed = permissions.of(caller.clientId, clock.now()).filter((p) => p.decision === 'allow');
  return grants.all().filter((grant) => allowed.some((p) => grant.endpoints.includes(p.endpoint)));
}

/** An issuer is compared byte for byte, an endpoint by its canonical form: kept, and ended, under each. */
function spellings(broker: Broker, server: string): ReadonlySet<string> {
  const canonical = broker.canonical(server);
  const known = broker.parts.overrides.all().map((record) => record.server);
  const same = known.filter((other) => URL.parse(other)?.href.replace(/\/+$/, '') === canonical);
  return new Set([server, canonical, ...same]);
}

function grantName(broker: Broker, { grant, resource }: ParamsOf<'grant.revoke'>): string {
  return grant ?? broker.canonical(resource ?? '');
}

async function endPermission(
  broker: Broker,
  clientId: string,
  endpoint: string,
  outcome: string,
): Promise<void> {
  const { permissions, audit, clients } = broker.parts;
  if (!(await permissions.end(clientId, endpoint))) {
    throw new KeyturnError('not_found', `${clients.nameOf(clientId)} has no permission for ${endpoint}.`, {
      hint: '`keyturn clients` shows the permissions there are.',
    });
  }
  await audit.record({ event: 'permission', outcome, client: clients.nameOf(clientId), endpoint });
}
