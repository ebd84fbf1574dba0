/** Accounts in words: which one an app will use, how to give it another one, and the question which one it is. */
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
  const there = liveSignIns(signIns, endpoint);
  const bound = [...new Set(permission?.accounts)];
  if (bound.length > 1 && permission?.account === undefined)
    return `${app} may use ${names(bound, there)} there: you will be asked which one, or use --account ACCOUNT.`;
  if (bound.length > 0) {
    return `${app} works there as ${names([permission?.account ?? bound[0] ?? ''], there)}.`;
  }
  const accounts = there.flatMap(({ account }) => account ?? []);
  if (accounts.length === 0) {
    return `Nobody is signed in there yet: ${app} will work as the account of the first sign-in.`;
  }
  const shown = names(accounts, there);
  if (accounts.length === 1) return `${app} will work there as ${shown}, the only account now.`;
  return `${shown} are signed in there: you will be asked which one ${app} works as, or use --account ACCOUNT.`;
}

/** The sign-ins at an endpoint that aren't revoked. */
export const liveSignIns = (signIns: SignIns, endpoint: string): SignIns =>
  signIns.filter((one) => one.endpoint === endpoint && one.state !== 'revoked');

/** For each other account there, the command that allows it instead of the one that the request names. */
export function otherAccounts(
  { app, resource, scope, account }: ResultOf<'request.list'>['requests'][number],
  signIns: SignIns,
): string[] {
  if (app === undefined || resource === undefined || account === undefined) return [];
  const endpoint = endpointOf(resource, { allowInsecureLoopback: true });
  const others = new Set(liveSignIns(signIns, endpoint).map((one) => one.account));
  const scoped = scope === undefined ? [] : [shellOption('scope', scope)];
  const command = ['  keyturn app allow', shellWord(app), shellWord(resource), ...scoped].join(' ');
  return [...others].flatMap((other) =>
    other !== undefined && other !== account
      ? `${command} ${shellOption('account', other)}   as ${quoted(other)} instead`
      : [],
  );
}

/** With their authorization servers, if the sign-ins are at several. One that needs a new sign-in gives way to others. */
function names(accounts: readonly string[], there: SignIns): string {
  const isPlain = new Set(there.map(({ issuer }) => issuer)).size < 2;
  const shown = (name: string): readonly string[] => {
    const own = there.filter(({ account }) => account === name);
    const usable = own.filter(({ state }) => state !== 'signInRequired');
    const issuers = new Set((usable.length > 0 ? usable : own).map(({ issuer }) => issuer));
    return isPlain || issuers.size === 0
      ? [quoted(name)]
      : [...issuers].map((issuer) => `${quoted(name)} at ${issuer}`);
  };
  return [...new Set(accounts)].flatMap(shown).join(', ');
}

interface Choice {
  /** As the sentence names it. */
  readonly app: string;
  readonly resource: string;
  readonly accounts: readonly string[];
}

/** Begins in lower case. */
export function choiceQuestion({ app, resource, accounts }: Choice): string {
  return `which account should ${app} use at ${resource}, where a request names none: ${accounts.map(quoted).join(', ')}?`;
}

/** What follows the id in `request approve`, for each account that it may name. */
export const choiceOptions = (accounts: readonly string[]): string[] =>
  accounts.map((account) => ` ${shellOption('account', account)}`);
