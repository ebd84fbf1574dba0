/**
 * The methods of the wire, each bound to the broker: one table, one line of sight from name to deed.
 *
 * Invariant: params come from their schema, the permit stands beside each method in ipc/protocol/protocol.ts
 * and is checked here before anything runs, and no answer but `token.get` holds a secret.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { isChange } from '../../ipc/protocol/effects.ts';
import { isMethod, methods } from '../../ipc/protocol/protocol.ts';
import type { MethodName } from '../../ipc/protocol/protocol.ts';
import type { Caller } from '../../ipc/server/server.ts';
import type { Handlers, Services } from './services.ts';
import { clientMethods } from './client.ts';
import { grantMethods } from './grant.ts';
import { homeMethods } from './home.ts';
import { registrationMethods } from './registration.ts';
import { resetMethods } from './reset.ts';
import { tokenMethods } from './token.ts';
import { vaultMethods } from './vault.ts';
import { servedAnyway } from '../settings/mismatched-home.ts';
import type { PermissionChange } from '../clients/widening.ts';

/**
 * What the owner does by records that count. The rest of the owner's methods list and end, and must work
 * while the vault is locked; one that is forgotten here is refused, because unverified records throw.
 */
const usingRecords: ReadonlySet<MethodName> = new Set<MethodName>([
  'token.get',
  'permission.release',
  'client.remove',
  'permission.set',
  'permission.end',
  'registration.set',
  'registration.remove',
  'override.set',
  'login.start',
]);

const handlers: Handlers = {
  ...tokenMethods,
  ...grantMethods,
  ...clientMethods,
  ...registrationMethods,
  ...homeMethods,
  ...vaultMethods,
  ...resetMethods,
};

/** What a local client does instead. */
const ownersHints: Partial<Record<MethodName, string>> = {
  'grant.revoke':
    'Other programs may use the grant. permission.release ends this program’s own permission; the person revokes with: keyturn revoke RESOURCE',
};

/** Answers one authenticated request. Throws KeyturnError with a stable reason. */
export async function dispatch(
  services: Services,
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
      hint: ownersHints[method] ?? 'Use the keyturn command.',
    });
  }
  if (!servedAnyway.has(method)) services.refuseMismatch();
  services.vaultLock.admit(caller, method);
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
  // A local client sees and gets by its permissions alone.
  if (caller.role !== 'owner' || usingRecords.has(method)) await services.verifyRecords();
  await services.requireOpenDesk?.(method, parsed.data);
  const approved = await services.approve?.(caller, method, parsed.data);
  // The table binds each name to a handler of its own params; the compiler can't follow the lookup.
  const handler = handlers[method] as (
    services: Services,
    caller: Caller,
    params: unknown,
    approved: PermissionChange | undefined,
  ) => unknown;
  const answer = await handler(services, caller, parsed.data, approved);
  if (isChange(method)) services.changed();
  return answer;
}
