/**
 * Which permissions give a program more than it had: asked by the broker of commands, by the app of its windows.
 *
 * Invariant: what isn't clearly less is more.
 */
import type * as z from 'zod';
import type { methods } from '../ipc/protocol.ts';

type Clients = z.output<(typeof methods)['client.list']['result']>['clients'];
type PermissionParams = z.output<(typeof methods)['permission.set']['params']>;

/** True unless the client has such a permission already, and it reaches as far as the new one and lasts as long. */
export function widens(clients: Clients, { client, ...wanted }: PermissionParams): boolean {
  if (wanted.decision !== 'allow') return false;
  const has = clients
    .filter(({ clientId, name }) => client === clientId || client === name)
    .flatMap(({ permissions }) => permissions)
    .find(({ resource, decision }) => resource === wanted.resource && decision === 'allow');
  if (!has) return true;
  return (
    !isWithin(wanted.scope, has.scope) || !endsBy(wanted.until, has.until) || !isSame(rest(wanted), rest(has))
  );
}

/** Absent: not limited to any scopes. */
function isWithin(wanted: string | undefined, has: string | undefined): boolean {
  if (has === undefined) return true;
  if (wanted === undefined) return false;
  const held = has.split(' ');
  return wanted.split(' ').every((scope) => held.includes(scope));
}

/** Absent: until it is ended. In seconds since 1970. */
function endsBy(wanted: number | undefined, has: number | undefined): boolean {
  return has === undefined || (wanted !== undefined && wanted <= has);
}

/** Whatever else limits a permission: no less than before only if it is the same. */
function rest(permission: object): readonly [string, unknown][] {
  const compared = new Set(['resource', 'scope', 'until', 'decision']);
  return Object.entries(permission).filter(([name]) => !compared.has(name));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
