/** Accounts in words: which one an app will use, and how to give it another one. */
import { quoted, shellOption, shellWord } from '../../base/errors.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { endpointOf } from '../../oauth/base/resource.ts';

type Apps = ResultOf<'app.list'>['apps'];
type SignIns = ResultOf<'signIn.list'>['signIns'];

interface AllowedApp {
  /** Name or id, as it was typed. */
  readonly app: string;
  readonly resource: string;
}

export function accountNote({ app, resource }: AllowedApp, apps: Apps, signIns: SignIns): string {
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

/** Of a request that names an account, and of a sign-in. What isn't text there is no account. */
interface OfferedAccess {
  readonly app?: unknown;
  readonly resource?: unknown;
  readonly scope?: unknown;
  readonly account?: unknown;
}

interface SignedIn {
  readonly endpoint?: unknown;
  readonly account?: unknown;
  readonly state?: unknown;
}

/** For each other account there, the command that allows it instead of the one that the request names. */
export function otherAccounts(
  { app, resource, scope, account }: OfferedAccess,
  signIns: readonly SignedIn[],
): string[] {
  if (typeof app !== 'string' || typeof resource !== 'string' || typeof account !== 'string') return [];
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  const there = signIns.filter((one) => one.endpoint === endpoint && one.state !== 'revoked');
  const others = new Set(there.map((one) => one.account));
  const scoped = typeof scope === 'string' ? [shellOption('scope', scope)] : [];
  const command = ['  keyturn app allow', shellWord(app), shellWord(resource), ...scoped].join(' ');
  return [...others].flatMap((other) =>
    typeof other === 'string' && other !== account
      ? `${command} ${shellOption('account', other)}   as ${quoted(other)} instead`
      : [],
  );
}

const names = (accounts: readonly string[]): string => accounts.map(quoted).join(', ');
