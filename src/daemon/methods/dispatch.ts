/**
 * One request, from the method's name to its handler: every guard that can refuse it is here, in order. It comes over
 * the socket, or from the app's windows, in whose process the broker runs.
 *
 * Invariants: nothing runs before all guards of the method's row (ipc/protocol/methods.ts) have passed. Handlers get
 * params as their schema gave them. No answer but that of `token.get` holds a secret; keys of backups, and the
 * addresses of proxies, which are unguessable, go to the owner. The owner in this process needs no key, since who is
 * here has the vault already, and gets no token, since a window has no use for one.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { mapMaybe } from '../../broker/maybe-promise.ts';
import {
  changesLists,
  isMethod,
  isWidening,
  methodRow,
  methods,
  notVerified,
} from '../../ipc/protocol/methods.ts';
import type { MethodName } from '../../ipc/protocol/methods.ts';
import type { Caller, ServerDeps } from '../../ipc/server/server.ts';
import { ownerId } from '../../ipc/wire/handshake-messages.ts';
import type { HomeCheck } from '../home/home-check.ts';
import type { Handlers, Services } from './services.ts';
import { appMethods } from './app-methods.ts';
import { signInMethods } from './sign-in-methods.ts';
import { homeMethods } from './home-methods.ts';
import { requestMethods } from './request-methods.ts';
import { registrationMethods } from './registration-entry.ts';
import { resetMethods } from './reset.ts';
import { apiKeyMethods } from './api-key-methods.ts';
import { tokenMethods } from './token-methods.ts';
import { vaultMethods } from './vault-methods.ts';
import { widens } from '../approvals/widening-methods.ts';
import type { PermissionChange } from '../approvals/widening.ts';

const handlers: Handlers = {
  ...tokenMethods,
  ...signInMethods,
  ...appMethods,
  ...apiKeyMethods,
  ...requestMethods,
  ...registrationMethods,
  ...homeMethods,
  ...vaultMethods,
  ...resetMethods,
};

/** Answers authenticated requests, one each. Throws KeyturnError with a stable reason. */
export const dispatcher =
  (services: Services): ServerDeps['dispatch'] =>
  (caller, method, params) =>
    dispatch(services, caller, method, params);

/** The methods that the owner in this process may call; those of apps hand out tokens. */
export type OwnersMethod = {
  [M in MethodName]: (typeof methods)[M]['who'] extends 'app' ? never : M;
}[MethodName];

export interface InProcessOwner {
  /** Any of the owner's methods of ipc/protocol/methods.ts. Params and answer are untyped. Throws KeyturnError. */
  call(method: OwnersMethod, params: unknown): Promise<unknown>;
  /** Whether this request gives somebody more than they have. Throws KeyturnError. */
  widens(method: OwnersMethod, params: unknown): Promise<boolean>;
  /** Whether the command may approve while the Keyturn app is closed. No method of the wire does so. */
  allowCommand(isAllowed: boolean): Promise<void>;
  /** Ends the subscription, and what waits for this owner. */
  close(): void;
}

/** `heard` gets the names of the notifications. */
export function inProcessOwner(
  services: Services & { readonly homeCheck: Pick<HomeCheck, 'allowCommand'> },
  heard: (method: string) => void,
): InProcessOwner {
  const { broker, homeCheck } = services;
  const over = new AbortController();
  const peer = { kind: 'unverified' } as const;
  const caller: Caller = {
    appId: ownerId,
    role: 'owner',
    peer,
    peerNow: () => peer,
    signal: over.signal,
    get isOpen() {
      return !over.signal.aborted;
    },
    notify: (method) => heard(method),
    onClose: (callback) => over.signal.addEventListener('abort', callback, { once: true }),
  };
  // Can't fail: it only notes the caller.
  void dispatch(services, caller, 'subscribe', {});
  return {
    call: async (method, params) => {
      // The type says so too; a name from a window is only as good as the table it was looked up in.
      if (methodRow(method).who === 'app')
        throw new KeyturnError('not_permitted', `${method} is for other apps, not for the Keyturn app.`, {
          rule: 'no token ever reaches a window',
          hint: 'Use `keyturn token`.',
        });
      return dispatch(services, caller, method, params);
    },
    widens: async (method, params) => {
      await services.document.verify();
      return widens(broker, method, params);
    },
    allowCommand: (isAllowed) => homeCheck.allowCommand(isAllowed),
    close: () => over.abort(appQuits()),
  };
}

function dispatch(services: Services, caller: Caller, method: string, params: unknown): unknown {
  const request = (): unknown => answer(services, caller, method, params);
  const stopsBroker = isMethod(method) && methodRow(method).stopsBroker === true;
  const failed = (error: unknown): never => {
    services.noteFailure(method, error);
    throw error;
  };
  try {
    // Once the broker stops, nothing begins that it would not wait for.
    const answered = stopsBroker ? request() : services.shutdown.run(request);
    return answered instanceof Promise ? answered.catch(failed) : answered;
  } catch (error) {
    return failed(error);
  }
}

/** Waits only where a guard or the handler has to. */
function answer(services: Services, caller: Caller, method: string, params: unknown): unknown {
  if (!isMethod(method)) throw unknownMethod(method);
  const { who, appHint = 'Use the keyturn command.', inMismatchedHome, usesRecords } = methodRow(method);
  // No app acts as the owner.
  if (who === 'owner' && caller.role !== 'owner')
    throw new KeyturnError('not_permitted', `${method} is for the owner of this home.`, { hint: appHint });
  // Nothing is served or adopted in a home that may belong to another vault.
  if (!inMismatchedHome) services.homeCheck.refuseMismatch();
  // No app gets anything while the vault is locked.
  services.vaultLock.admit(caller, method);
  const request = { services, caller, method, params: checkedParams(method, params) };
  // The records are verified before they are used, and for each call of an app.
  const isReady = services.document.isJudged || (caller.role === 'owner' && !usesRecords);
  return isReady ? answerVerified(request) : services.document.verify().then(() => answerVerified(request));
}

/** A request whose params have passed the schema. */
interface CheckedRequest {
  readonly services: Services;
  readonly caller: Caller;
  readonly method: MethodName;
  readonly params: unknown;
}

function answerVerified(request: CheckedRequest): unknown {
  const { method, caller, services } = request;
  // At its first use of a home, the Keyturn app serves nothing before you have said what stays allowed.
  const isServed = caller.role === 'app' || methodRow(method).who === 'app';
  const decision = isServed ? services.homeCheck.requireFirstUseAnswered() : undefined;
  return decision ? decision.then(() => perform(request)) : perform(request);
}

function perform(request: CheckedRequest): unknown {
  const { method } = request;
  return isWidening(method) || methodRow(method).signsIn ? widen(request) : handle(request, undefined);
}

async function widen(request: CheckedRequest): Promise<unknown> {
  const { services, caller, method, params } = request;
  const { broker, homeCheck, approve } = services;
  // While the app is closed, or its first use undecided, nobody gets more: nobody could be asked.
  if (widens(broker, method, params)) await homeCheck.requireMayWiden();
  // While the Keyturn app runs, no command gives more before the user approved it.
  const approved = isWidening(method) ? await approve?.(caller, method, params) : undefined;
  return handle(request, approved);
}

function handle(
  { services, caller, method, params }: CheckedRequest,
  approved: PermissionChange | undefined,
): unknown {
  // The table binds each name to a handler of its own params; the compiler can't follow the lookup.
  const handler = handlers[method] as AnyHandler;
  const result = handler(services, caller, params, approved);
  const { document } = services;
  const isUnverified = methodRow(method).showsRecords === true && document.isUnverified;
  return mapMaybe(result, (answered = {}) => {
    if (isUnverified) return { ...Object(answered), warning: notVerified };
    if (!changesLists(method)) return answered;
    services.changed();
    return document.isOwed ? { ...Object(answered), warning: numberOwed } : answered;
  });
}

const numberOwed =
  'This is in effect. Your vault could not note it yet: until it can, Keyturn only takes access away.';

type AnyHandler = (
  services: Services,
  caller: Caller,
  params: unknown,
  approved: PermissionChange | undefined,
) => unknown;

function checkedParams(method: MethodName, params: unknown): unknown {
  const parsed = methods[method].params.safeParse(params ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new KeyturnError(
    'invalid_request',
    `${method}: ${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'bad value'}.`,
    { hint: 'docs/reference/wire-protocol.md shows what the methods of apps take.' },
  );
}

function unknownMethod(method: string): KeyturnError {
  return new KeyturnError('method_not_found', `There is no method ${quoted(method)}.`, {
    hint: 'docs/reference/wire-protocol.md lists the methods of apps. The other side may be newer.',
  });
}

function appQuits(): KeyturnError {
  return new KeyturnError('interrupted', 'The Keyturn app is quitting.', { hint: 'Start it again.' });
}
