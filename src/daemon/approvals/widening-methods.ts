/**
 * The methods that give somebody more access: what the user of the Keyturn app is asked before each, and which requests
 * a broker without a window refuses in an app's home (app-closed.ts).
 *
 * Invariants: a request that can't be carried out is refused before anybody is asked. What is asked holds no secret,
 * and its addresses have one spelling, however the command spelt them. Nobody is asked about a request that clearly
 * gives no more than what is allowed already.
 */
import type { Broker } from '../../broker/broker.ts';
import { hostOrigin, privateAddress } from '../../broker/records/exception.ts';
import type { Proxies } from '../../broker/records/proxy.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { KeyturnError } from '../../base/errors.ts';
import { alwaysWidens, isWidening, methodRow } from '../../ipc/protocol/methods.ts';
import type {
  MaybeWideningMethod,
  MethodName,
  ParamsOf,
  WideningMethod,
} from '../../ipc/protocol/methods.ts';
import { formatScope, parseScope } from '../../oauth/base/scope.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import { checkRegistration, enteredFor } from '../methods/registration-entry.ts';
import type { Forwards } from '../forwards/forwards.ts';
import type { CheckedSetting } from '../settings/settings-book.ts';
import { withoutPassword } from '../settings/settings-book.ts';
import { newProxyName } from '../proxy/proxied-apps.ts';
import { spelled } from '../system/spelling.ts';
import { checkApiKey } from '../methods/api-key-methods.ts';
import { denialEndRequest, keyPlace, permissionRequest, tokenPlace } from './widening.ts';
import type { CommandApproval } from './widening.ts';

export interface CommandApprovalParts {
  readonly broker: Broker;
  readonly proxies: Pick<Proxies, 'refuseTaken' | 'nameFor'>;
  readonly forwards: Pick<Forwards, 'refuse'>;
  /** Throws what the change would throw. */
  readonly checkSetting: (name: string, value: unknown) => CheckedSetting;
}

type AskFor<M extends WideningMethod> = (
  parts: M extends MaybeWideningMethod | 'resume'
    ? Pick<CommandApprovalParts, 'broker'>
    : CommandApprovalParts,
  params: ParamsOf<M>,
) => CommandApproval | undefined;

/**
 * What the user of the Keyturn app is asked, for each method of ipc/protocol/methods.ts that widens. Undefined: the
 * request widens nothing. Throws what the method would throw for such params.
 */
const approvalFor: { readonly [M in WideningMethod]: AskFor<M> } = {
  'permission.set': ({ broker }, params) => permissionRequest(broker, params),

  'permission.revoke': ({ broker }, { app, resource }) =>
    denialEndRequest(broker, broker.parts.apps.resolve(app), tokenPlace(broker, resource)),

  'apiKey.set': ({ broker }, params) => {
    const endpoint = checkApiKey(broker, params);
    const { header, scheme, unchecked } = params;
    return {
      command: 'apiKey',
      resource: endpoint,
      apiKey: { header, scheme },
      replaces: broker.parts.apiKeys.for(endpoint) !== undefined,
      unchecked,
    };
  },

  'apiKey.permission.set': ({ broker }, params) => permissionRequest(broker, params, keyPlace),

  'apiKey.permission.revoke': ({ broker }, { app, resource }) =>
    denialEndRequest(broker, broker.parts.apps.resolve(app), keyPlace(broker, resource)),

  'oauthClient.add': ({ broker }, entry) => {
    checkRegistration(broker.parts, entry);
    const { issuer, clientId, grantType, authMethod, redirectUri, idp, assertion } = entry;
    return {
      command: 'oauthClient',
      issuer: spelled(issuer),
      clientId,
      grantType,
      authMethod,
      redirectUri: redirectUri && spelled(redirectUri),
      idp: idp && spelled(idp.issuer),
      assertion,
      replaces: enteredFor(broker.parts, issuer).length > 0,
    };
  },

  'signIn.start': ({ broker }, { resource, issuer, account, scope, newClient, method = 'browser' }) => {
    if (issuer !== undefined) requireSecureUrl(issuer, 'the issuer', broker.parts.urlPolicy);
    return {
      command: 'signIn',
      resource: broker.exact(resource),
      method,
      issuer: issuer && spelled(issuer),
      account,
      scope: scope && formatScope(parseScope(scope)),
      newClient,
    };
  },

  'exception.set': ({ broker }, { server, name, on }) => {
    const canonical = broker.canonical(server);
    const shown = name === privateAddress ? hostOrigin(canonical) : canonical;
    return on ? { command: 'exception', server: shown, exception: name } : undefined;
  },

  'proxy.add': ({ broker, proxies }, { resource, name, port }) => {
    const endpoint = broker.exact(resource);
    return {
      command: 'proxy',
      resource: endpoint,
      app: newProxyName(broker.parts, proxies, { endpoint, name, port }),
    };
  },

  'forward.open': ({ broker, forwards }, params) => {
    const { label, hostKey, resources, lifetime } = params;
    forwards.refuse(params);
    return {
      command: 'forward',
      forward: { label, hostKey },
      resources: resources.map((resource) => broker.canonical(resource)),
      until: wholeSeconds(broker.parts.clock.wall() + lifetime * 1000),
    };
  },

  'settings.set': ({ checkSetting }, params) => {
    const { name, value } = checkSetting(params.name, params.value);
    refuseUnshowable(name, value);
    return { command: 'settings', setting: { name, value: withoutPassword(value) } };
  },

  'vault.unlock': () => ({ command: 'unlock' }),

  'vault.passphrase': () => ({ command: 'passphrase' }),

  'backup.open': () => ({ command: 'backup' }),

  resume: ({ broker }) => (broker.parts.pause.current ? { command: 'resume' } : undefined),

  'request.answer': ({ broker }, { id, answer }) => {
    const kind = broker.parts.approvalRequests.find(id)?.question.kind;
    const isSignIn = kind === 'signIn' || kind === 'device';
    // An approval to a sign-in calls it off, as any answer does.
    if (answer === 'approve' && kind !== undefined && !isSignIn)
      throw new KeyturnError('not_permitted', 'This request must be answered in the Keyturn window.', {
        rule: 'While the Keyturn app is running, commands that grant access must be approved in its window',
        hint: 'Answer it in Keyturn’s window. From here you can only deny it.',
      });
    // A remembered denial decides as much as an approval: requests would go past the proxy that was written there.
    if (answer === 'deny' && kind === 'settings')
      throw new KeyturnError('not_permitted', 'Settings changes must be approved in the Keyturn window.', {
        rule: 'While the Keyturn app is running, nothing goes to the network before you approve or deny such settings',
        hint: 'Answer it in Keyturn’s window. From here you can only deny it without --remember.',
      });
    return undefined;
  },
};

/** What the user is asked before a request runs. `params` passed the method's schema. Throws as the method would. */
export function commandApprovalFor(
  parts: CommandApprovalParts,
  method: WideningMethod,
  params: unknown,
): CommandApproval | undefined {
  return rowOf(method)(parts, params);
}

/** They are guarded in another way. */
const guardedElsewhere: ReadonlySet<MethodName> = new Set([
  // HomeCheck compares it with what the document has. What is in force before that is known, anybody may have written.
  'settings.set',
  // An open vault is needed to learn that this is an app's home.
  'vault.unlock',
  // No approval request opens while the Keyturn app is closed, so there is none to answer.
  'request.answer',
]);

/**
 * Whether a request gives somebody more than they have: in a window it needs a press, and while the Keyturn app is
 * closed it is refused. `params` have passed the method's schema. Throws as the method would.
 */
export function widens(broker: Broker, method: MethodName, params: unknown): boolean {
  if (methodRow(method).signsIn) return true;
  if (!isWidening(method) || guardedElsewhere.has(method)) return false;
  const isCertain = alwaysWidens(method) && method !== 'resume';
  return isCertain || rowOf(method)({ broker }, params) !== undefined;
}

/** A row for params of any method: the table binds each name to its own, and the compiler can't follow the lookup. */
const rowOf = (method: WideningMethod) =>
  approvalFor[method] as (
    parts: Partial<CommandApprovalParts>,
    params: unknown,
  ) => CommandApproval | undefined;

/** Characters that a card shows whole: the longest value that anybody could still read. */
const maxShownLength = 1000;

function refuseUnshowable(name: string, value: CheckedSetting['value']): void {
  const { length } = String(value);
  if (length <= maxShownLength) return;
  throw new KeyturnError('invalid_request', `${name}: ${length} characters are too many for a card.`, {
    rule: `A card shows the whole value: at most ${maxShownLength} characters`,
    hint: 'Give a shorter value.',
  });
}
