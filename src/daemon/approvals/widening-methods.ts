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
import type { CommandApproval } from '../../broker/approval-requests/question.ts';
import { KeyturnError } from '../../base/errors.ts';
import { isWidening, methodRow } from '../../ipc/protocol/methods.ts';
import type {
  MaybeWideningMethod,
  MethodName,
  ParamsOf,
  WideningMethod,
} from '../../ipc/protocol/methods.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import { checkRegistration, enteredFor } from '../methods/registration-entry.ts';
import type { Forwards } from '../forwards/forwards.ts';
import type { CheckedSetting } from '../settings/settings-book.ts';
import { withoutPassword } from '../settings/settings-book.ts';
import { newProxyName } from '../proxy/proxied-apps.ts';
import { spelled } from '../system/spelling.ts';
import { checkApiKey } from '../methods/api-key-methods.ts';
import {
  denialEndRequest,
  keyDenialEndRequest,
  keyPermissionRequest,
  permissionRequest,
} from './permission-requests.ts';
import { endsApiKeyDenial, endsDenial, requireKey, widensApiKey, widensPermission } from './widening.ts';

export interface CommandApprovalParts {
  readonly broker: Broker;
  readonly proxies: Pick<Proxies, 'refuseTaken' | 'nameFor'>;
  readonly forwards: Pick<Forwards, 'refuse'>;
  /** Throws what the change would throw. */
  readonly checkSetting: (name: string, value: unknown) => CheckedSetting;
}

interface Widening<M extends WideningMethod> {
  /**
   * What the user of the Keyturn app is asked. Undefined: the request widens nothing. Throws what the method would
   * throw for such params.
   */
  readonly request: (parts: CommandApprovalParts, params: ParamsOf<M>) => CommandApproval | undefined;
  /** Whether it gives somebody more than they have: always, unless given. Throws as `request`. */
  readonly widens?: (broker: Broker, params: ParamsOf<M>) => boolean;
}

const never = (): boolean => false;

/** One row for each method of ipc/protocol/methods.ts that widens. */
const wideningMethods: {
  readonly [M in WideningMethod]: M extends MaybeWideningMethod ? Required<Widening<M>> : Widening<M>;
} = {
  'permission.set': {
    request: ({ broker }, params) => permissionRequest(broker, params),
    widens: widensPermission,
  },

  'permission.revoke': {
    request: ({ broker }, { app, resource }) =>
      denialEndRequest(broker, broker.parts.apps.resolve(app), broker.canonical(resource)),
    widens: endsDenial,
  },

  'apiKey.set': {
    request: ({ broker }, params) => {
      const endpoint = checkApiKey(broker, params);
      const { header, scheme, unchecked } = params;
      return {
        command: 'apiKey',
        endpoint,
        apiKey: scheme === undefined ? { header } : { header, scheme },
        replaces: broker.parts.apiKeys.for(endpoint) !== undefined,
        isUnchecked: unchecked,
      };
    },
  },

  'apiKey.permission.set': {
    request: ({ broker }, params) => keyPermissionRequest(broker, params),
    widens: widensApiKey,
  },

  'apiKey.permission.revoke': {
    request: ({ broker }, { app, resource }) =>
      keyDenialEndRequest(broker, broker.parts.apps.resolve(app), requireKey(broker, resource)),
    widens: endsApiKeyDenial,
  },

  'oauthClient.set': {
    request: ({ broker }, entry) => {
      checkRegistration(broker.parts, entry);
      const { issuer, clientId, grantType, authMethod, redirectUri, idp, assertion } = entry;
      return {
        command: 'oauthClient',
        issuer: spelled(issuer),
        clientId,
        grantType,
        authMethod,
        ...(redirectUri === undefined ? {} : { redirectUri: spelled(redirectUri) }),
        ...(idp === undefined ? {} : { idp: spelled(idp.issuer) }),
        assertion,
        replaces: enteredFor(broker.parts, issuer).length > 0,
      };
    },
  },

  'signIn.start': {
    request: ({ broker }, { resource, issuer, account, scope, newClient, method = 'browser' }) => {
      if (issuer !== undefined) requireSecureUrl(issuer, 'the issuer', broker.parts.urlPolicy);
      return {
        command: 'signIn',
        endpoint: broker.exact(resource),
        method,
        ...(issuer === undefined ? {} : { issuer: spelled(issuer) }),
        account,
        ...(scope === undefined ? {} : { scope: parseScope(scope) }),
        isNewClient: newClient,
      };
    },
  },

  'exception.set': {
    request: ({ broker }, { server, name, on }) => {
      const canonical = broker.canonical(server);
      const shown = name === privateAddress ? hostOrigin(canonical) : canonical;
      return on ? { command: 'exception', server: shown, exception: name } : undefined;
    },
    widens: (_broker, { on }) => on,
  },

  'proxy.add': {
    request: ({ broker, proxies }, { resource, name, port }) => {
      const endpoint = broker.exact(resource);
      return {
        command: 'proxy',
        endpoint,
        name: newProxyName(broker.parts, proxies, { endpoint, name, port }),
      };
    },
  },

  'forward.open': {
    request: ({ broker, forwards }, params) => {
      const { label, hostKey, resources, lifetime } = params;
      forwards.refuse(params);
      return {
        command: 'forward',
        forward: { label, hostKey },
        endpoints: resources.map((resource) => broker.canonical(resource)),
        until: broker.parts.clock.wall() + lifetime * 1000,
      };
    },
  },

  'settings.set': {
    request: ({ checkSetting }, params) => {
      const { name, value } = checkSetting(params.name, params.value);
      refuseUnshowable(name, value);
      return { command: 'settings', name, ...(value === undefined ? {} : { value: withoutPassword(value) }) };
    },
    // HomeCheck compares it with what the vault holds. What is in force before that is known, anybody may have written.
    widens: never,
  },

  'vault.unlock': {
    request: () => ({ command: 'unlock' }),
    // An open vault is needed to learn that this is an app's home.
    widens: never,
  },

  'vault.passphrase': { request: () => ({ command: 'passphrase' }) },

  'backup.open': { request: () => ({ command: 'backup' }) },

  resume: {
    request: ({ broker }) => (broker.parts.pause.current ? { command: 'resume' } : undefined),
    widens: (broker) => broker.parts.pause.current !== undefined,
  },

  'request.answer': {
    request: ({ broker }, { id, answer }) => {
      const kind = broker.parts.approvalRequests.find(id)?.question.kind;
      const isSignIn = kind === 'signIn' || kind === 'device';
      // An approval to a sign-in calls it off, as any answer does.
      if (answer === 'approve' && kind !== undefined && !isSignIn) throw answeredInTheApp();
      // A remembered denial decides as much as an approval: requests would go past the proxy that was written there.
      if (answer === 'deny' && kind === 'settings') throw decidedInTheApp();
      return undefined;
    },
    // No approval request opens while the app is closed, so there is none to answer.
    widens: never,
  },
};

/**
 * What the user is asked before a request runs. `params` have passed the method's schema. Throws as the method would.
 */
export function commandApprovalFor(
  parts: CommandApprovalParts,
  method: WideningMethod,
  params: unknown,
): CommandApproval | undefined {
  return rowOf(method).request(parts, params);
}

/**
 * Whether a request gives somebody more than they have: in a window it needs a press, and while the app is closed it is
 * refused. `params` have passed the method's schema. Throws as the method would.
 */
export function widens(broker: Broker, method: MethodName, params: unknown): boolean {
  if (methodRow(method).signsIn) return true;
  return isWidening(method) && (rowOf(method).widens?.(broker, params) ?? true);
}

/** A row for params of any method: the table binds each name to its own, and the compiler can't follow the lookup. */
interface AnyRow {
  readonly request: (parts: CommandApprovalParts, params: unknown) => CommandApproval | undefined;
  readonly widens?: (broker: Broker, params: unknown) => boolean;
}

const rowOf = (method: WideningMethod): AnyRow => wideningMethods[method] as AnyRow;

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

function answeredInTheApp(): KeyturnError {
  return new KeyturnError('not_permitted', 'This request must be answered in the Keyturn window.', {
    rule: 'While the app is running, commands that grant access must be approved in its window',
    hint: 'Answer it in Keyturn’s window. From here you can only deny it.',
  });
}

function decidedInTheApp(): KeyturnError {
  return new KeyturnError('not_permitted', 'Settings changes must be approved in the Keyturn window.', {
    rule: 'While the Keyturn app is running, nothing goes to the network before you approve or deny such settings',
    hint: 'Answer it in Keyturn’s window. From here you can only deny it without --remember.',
  });
}
