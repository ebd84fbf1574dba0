/** Accounts in words: which one a program will use after `keyturn app allow` without --account. */
import { quoted } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { endpointOf } from '../../oauth/base/resource.ts';

type Clients = ResultOf<'app.list'>['clients'];
type Grants = ResultOf<'signIn.list'>['grants'];

interface Allowed {
  /** Name or id, as it was typed. */
  readonly client: string;
  readonly resource: string;
}

export function accountNote({ client, resource }: Allowed, clients: Clients, grants: Grants): string {
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  const permission = clients
    .find(({ clientId, name }) => clientId === client || name === client)
    ?.permissions.find((one) => one.resource === endpoint);
  const bound = permission?.accounts ?? [];
  if (bound.length > 1 && permission?.account === undefined)
    return `${client} may use ${names(bound)} there: you will be asked which one, or use --account ACCOUNT.`;
  if (bound.length > 0) return `${client} works there as ${names([permission?.account ?? bound[0] ?? ''])}.`;
  const accounts = grants
    .filter((grant) => grant.endpoint === endpoint && grant.state !== 'revoked')
    .flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) {
    return `Nobody is signed in there yet: ${client} will work as the account of the first sign-in.`;
  }
  if (accounts.length === 1) return `${client} will work there as ${names(accounts)}, the only account.`;
  return `${names(accounts)} are signed in there: you will be asked which one ${client} works as, or use --account ACCOUNT.`;
}

const names = (accounts: readonly string[]): string => accounts.map(quoted).join(', ');
