/**
 * One request, from the method's name to its handler: every guard that can refuse it stands here, in order.
 *
 * Invariant: nothing runs before all guards of the method's row (ipc/protocol/methods.ts) have passed. Handlers get
 * params as their schema gave them. No answer but those of `token.get` and `lease.delegate` holds a secret; keys of backups, and the addresses of
 * proxies, which nobody can guess, go to the owner.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { changesLists, isMethod, isWidening, methodRow, methods } from '../../ipc/protocol/methods.ts';
import type { MethodName } from '../../ipc/protocol/methods.ts';
import type { Caller, ServerDeps } from '../../ipc/server/server.ts';
import type { Handlers, Services } from './services.ts';
import { clientMethods } from './client-methods.ts';
import { grantMethods } from './grant-methods.ts';
import { homeMethods } from './home-methods.ts';
import { registrationMethods } from './registered-clients.ts';
import { resetMethods } from './reset.ts';
import { keyMethods } from './key-methods.ts';
import { tokenMethods } from './token-methods.ts';
import { vaultMethods } from './vault-methods.ts';
import { widensAtClosedDesk } from './widening-methods.ts';
import { refuseByPolicy } from '../clients/policy-check.ts';
import type { PermissionChange } from '../clients/widening.ts';

const handlers: Handlers = {
  ...tokenMethods,
  ...grantMethods,
  ...clientMethods,
  ...keyMethods,
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

async function dispatch(
  services: Services,
  caller: Caller,
  method: string,
  params: unknown,
): Promise<unknown> {
  const request = (): Promise<unknown> => answer(services, caller, method, params);
  const stopsBroker = isMethod(method) && methodRow(method).stopsBroker === true;
  try {
    // Once the broker stops, nothing begins that it would not wait for.
    return await (stopsBroker ? request() : services.shutdown.run(request));
  } catch (error) {
    services.noteFailure(method, error);
    throw error;
  }
}

async function answer(services: Services, caller: Caller, method: string, params: unknown): Promise<unknown> {
  if (!isMethod(method)) throw unknownMethod(method);
  const { who, effect, signsIn, clientHint, inMismatchedHome, usesRecords } = methodRow(method);
  // No program acts as the owner.
  if (who === 'owner' && caller.role !== 'owner') throw forOwner(method, clientHint);
  // Nothing is served or adopted in a home that may belong to another vault.
  if (!inMismatchedHome) services.homeCheck.refuseMismatch();
  // No program gets anything while the vault is locked.
  services.vaultLock.admit(caller, method);
  const checked = checkedParams(method, params);
  // No permission, program or rule counts that something else wrote into the files. A local client always goes by them.
  if (caller.role !== 'owner' || usesRecords) await verifyRecords(services);
  // What the administrator forbids is not asked about.
  refuseByPolicy(services.broker, caller, method, checked);
  // At a closed desk nobody gets more than they have: nobody could be asked.
  if ((effect === 'widens' || signsIn) && !services.broker.parts.isDesk) {
    if (widensAtClosedDesk(services.broker, method, checked)) await services.homeCheck.requireOpen();
  }
  // At a desk no command gives more before the person said yes.
  const approved = isWidening(method) ? await services.approve?.(caller, method, checked) : undefined;
  // The table binds each name to a handler of its own params; the compiler can't follow the lookup.
  const handler = handlers[method] as AnyHandler;
  const result = await handler(services, caller, checked, approved);
  if (changesLists(method)) services.changed();
  return result;
}

/** Before records of the home give anybody anything. Throws what the vault throws; quick once it has succeeded. */
export async function verifyRecords({ homeCheck, authority }: Services): Promise<void> {
  await homeCheck.verify();
  await authority.verify();
}

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
    { hint: 'docs/wire.md shows what the method takes.' },
  );
}

function unknownMethod(method: string): KeyturnError {
  return new KeyturnError('method_not_found', `There is no method ${quoted(method)}.`, {
    hint: 'docs/wire.md lists the methods; the other side may be newer.',
  });
}

function forOwner(method: string, hint = 'Use the keyturn command.'): KeyturnError {
  return new KeyturnError('not_permitted', `${method} is for the owner of this home.`, { hint });
}
