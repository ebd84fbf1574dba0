/** Accounts in words: which one an app will use after `keyturn app allow` without --account. */
import { quoted } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { endpointOf } from '../../oauth/base/resource.ts';

type Apps = ResultOf<'app.list'>['apps'];
type SignIns = ResultOf<'signIn.list'>['signIns'];

interface Allowed {
  /** Name or id, as it was typed. */
  readonly app: string;
  readonly resource: string;
}

export function accountNote({ app, resource }: Allowed, apps: Apps, signIns: SignIns): string {
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  const permission = apps
    .find(({ appId, name }) => appId === app || name === app)
    ?.permissions.find((one) => one.resource === endpoint);
  const bound = permission?.accounts ?? [];
  if (bound.length > 1 && permission?.account === undefined)
    return `${app} may use ${names(bound)} there: you will be asked which one, or use --account ACCOUNT.`;
  if (bound.length > 0) return `${app} works there as ${names([permission?.account ?? bound[0] ?? ''])}.`;
  const accounts = signIns
    .filter((signIn) => signIn.endpoint === endpoint && signIn.state !== 'revoked')
    .flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) {
    return `Nobody is signed in there yet: ${app} will work as the account of the first sign-in.`;
  }
  if (accounts.length === 1) return `${app} will work there as ${names(accounts)}, the only account.`;
  return `${names(accounts)} are signed in there: you will be asked which one ${app} works as, or use --account ACCOUNT.`;
}

const names = (accounts: readonly string[]): string => accounts.map(quoted).join(', ');
