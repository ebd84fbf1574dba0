/**
 * What a request of the owner's would widen, as the person at the desk is to see it.
 *
 * Invariants: what can't be done is refused here, before anybody is asked. A wish holds no secret, and its
 * addresses have one spelling, whatever the command typed. Nothing is asked where a request is clearly no more
 * than what stands.
 */
import type { Broker } from '../../broker/broker.ts';
import { hostOrigin, privateAddress } from '../../broker/records/override.ts';
import type { ApprovalRequest } from '../../broker/questions/question.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { WideningMethod } from '../../ipc/protocol/effects.ts';
import type { ParamsOf } from '../../ipc/protocol/protocol.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { requireSecureUrl } from '../../oauth/base/secure-url.ts';
import { checkRegistration, enteredFor } from './registration-entry.ts';
import type { CheckedSetting } from '../settings/settings-book.ts';
import { withoutPassword } from '../settings/settings-book.ts';
import { spelled } from '../system/spelling.ts';
import { decisionOf, refusalOf, widens } from '../clients/widening.ts';

export interface ApprovalRequestParts {
  readonly broker: Broker;
  /** Throws what the change would throw. */
  readonly checkSetting: (name: string, value: unknown) => CheckedSetting;
}

type ApprovalRequests = {
  readonly [M in WideningMethod]: (
    parts: ApprovalRequestParts,
    params: ParamsOf<M>,
  ) => ApprovalRequest | undefined;
};

/** Undefined: the request widens nothing. Each throws what its method would throw for such params. */
const requests: ApprovalRequests = {
  'permission.set': ({ broker }, params) => permissionRequest(broker, params),

  'permission.end': ({ broker }, { client, resource }) =>
    denialEndRequest(broker, broker.parts.clients.resolve(client), broker.canonical(resource)),

  'registration.set': ({ broker }, entry) => {
    checkRegistration(broker.parts, entry);
    const { issuer, clientId, grant, authMethod, redirectUri, idp } = entry;
    return {
      command: 'register',
      issuer: spelled(issuer),
      registration: clientId,
      ...(grant === undefined ? {} : { grant }),
      ...(authMethod === undefined ? {} : { authMethod }),
      ...(redirectUri === undefined ? {} : { redirectUri: spelled(redirectUri) }),
      ...(idp === undefined ? {} : { idp: spelled(idp.issuer) }),
      replaces: enteredFor(broker.parts, issuer).length > 0,
    };
  },

  'login.start': ({ broker }, { resource, issuer, account, scope, newClient, method = 'browser' }) => {
    if (issuer !== undefined) requireSecureUrl(issuer, 'the issuer', broker.parts.urlPolicy);
    return {
      command: 'login',
      endpoint: broker.canonical(resource),
      method,
      ...(issuer === undefined ? {} : { issuer: spelled(issuer) }),
      ...(account === undefined ? {} : { account }),
      ...(scope === undefined ? {} : { scope: parseScope(scope) }),
      ...(newClient === undefined ? {} : { isNewClient: newClient }),
    };
  },

  'override.set': ({ broker }, { server, name, on }) => {
    const canonical = broker.canonical(server);
    const shown = name === privateAddress ? hostOrigin(canonical) : canonical;
    return on ? { command: 'override', server: shown, override: name } : undefined;
  },

  'settings.set': ({ checkSetting }, params) => {
    const { name, value } = checkSetting(params.name, params.value);
    refuseUnshowable(name, value);
    return { command: 'settings', name, ...(value === undefined ? {} : { value: withoutPassword(value) }) };
  },

  'vault.unlock': () => ({ command: 'unlock' }),

  'vault.passphrase': () => ({ command: 'passphrase' }),

  'interaction.answer': ({ broker }, { id, answer }) => {
    const kind = broker.parts.interactions.find(id)?.question.kind;
    const isSignIn = kind === 'login' || kind === 'device';
    // A yes to a sign-in calls it off, as any answer does.
    if (answer === 'yes' && kind !== undefined && !isSignIn) throw answeredAtTheDesk();
    // A no decides as much as a yes: requests would go past the proxy that was written there.
    if (answer === 'no' && kind === 'settings') throw decidedAtTheDesk();
    return undefined;
  },
};

/** `params` have passed the method's schema. Throws as its method would. */
export function approvalRequestFor(
  parts: ApprovalRequestParts,
  method: WideningMethod,
  params: unknown,
): ApprovalRequest | undefined {
  // The table binds each name to params of its own; the compiler can't follow the lookup.
  const request = requests[method] as (
    parts: ApprovalRequestParts,
    params: unknown,
  ) => ApprovalRequest | undefined;
  return request(parts, params);
}

function permissionRequest(broker: Broker, params: ParamsOf<'permission.set'>): ApprovalRequest | undefined {
  const { clients } = broker.parts;
  const { clientId, endpoint, scope, until } = decisionOf(broker, params);
  if (!widens(broker, params)) return undefined;
  if (params.decision === 'deny') return denialEndRequest(broker, clientId, endpoint, params.until);
  return {
    command: 'allow',
    clientName: clients.nameOf(clientId),
    endpoint,
    ...(scope === undefined ? {} : { scope }),
    ...(params.account === undefined ? {} : { account: params.account }),
    ...(until === undefined ? {} : { until }),
  };
}

/** `until`, in seconds: the denial would end then; absent: now. */
function denialEndRequest(
  broker: Broker,
  clientId: string,
  endpoint: string,
  until?: number,
): ApprovalRequest | undefined {
  const refused = refusalOf(broker, clientId, endpoint);
  if (!refused) return undefined;
  return {
    command: 'endDenial',
    clientName: broker.parts.clients.nameOf(clientId),
    endpoint,
    ...(refused.scope === undefined ? {} : { scope: refused.scope }),
    ...(refused.accounts === undefined ? {} : { accounts: refused.accounts }),
    ...(until === undefined ? {} : { until: until * 1000 }),
  };
}

/** Characters that a card shows whole: the longest value that anybody could still read. */
const maxShownLength = 1000;

function refuseUnshowable(name: string, value: CheckedSetting['value']): void {
  const { length } = String(value);
  if (length <= maxShownLength) return;
  throw new KeyturnError('invalid_request', `${name}: ${length} characters are too many for a card.`, {
    rule: `What a person says yes to is shown whole: at most ${maxShownLength} characters`,
    hint: 'Give a shorter value.',
  });
}

function answeredAtTheDesk(): KeyturnError {
  return new KeyturnError('not_permitted', 'A yes to this question counts in Keyturn’s window only.', {
    rule: 'While the desktop app is the broker, what widens needs the person’s own press',
    hint: 'Answer it in Keyturn’s window. From here "no" and "later" count.',
  });
}

function decidedAtTheDesk(): KeyturnError {
  return new KeyturnError('not_permitted', 'Which settings count is decided in Keyturn’s window only.', {
    rule: 'At a desk nothing goes to the network before the person confirmed or refused such settings',
    hint: 'Answer it in Keyturn’s window. From here "later" counts.',
  });
}
