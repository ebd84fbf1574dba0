/**
 * The parameters of a sign-in page besides scopes and resource: `login_hint` and `prompt`.
 *
 * Invariants: `login_hint` is an address or user name, never a label that the user chose, and never a subject.
 * `prompt` asks for a choice of account only after another account signed in, and for consent only if no refresh token
 * came without it: servers fail on prompts that they don't know, and the user should not be asked without need. A
 * prompt that an issuer refused is not sent to it again.
 */
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { includesOfflineAccess } from '../../oauth/base/scope.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { SignIns } from '../records/sign-ins.ts';
import type { Refresher } from '../tokens/refresher.ts';
import type { SignInDetails } from '../approval-requests/starter.ts';

interface PageParts {
  readonly signIns: SignIns;
  readonly refresher: Refresher;
  readonly refusedPrompts: RefusedPrompts;
}

export interface PageOptions {
  readonly loginHint?: string;
  /** OpenID Connect Core §3.1.2.1. */
  readonly prompts: readonly Prompt[];
}

export type Prompt = 'select_account' | 'consent';

/** More issuers than one user has. Beyond it the oldest entry is dropped. */
const maxRemembered = 64;

/** Prompts without which an issuer took the same page. In memory only: a server may support them later. */
export class RefusedPrompts {
  readonly #byIssuer = new Map<string, ReadonlySet<Prompt>>();

  add(issuer: string, prompts: readonly Prompt[]): void {
    const all = new Set([...(this.#byIssuer.get(issuer) ?? []), ...prompts]);
    this.#byIssuer.delete(issuer);
    this.#byIssuer.set(issuer, all);
    const [oldest] = this.#byIssuer.keys();
    if (oldest !== undefined && this.#byIssuer.size > maxRemembered) this.#byIssuer.delete(oldest);
  }

  without(issuer: string, prompts: readonly Prompt[]): Prompt[] {
    return prompts.filter((prompt) => !this.#byIssuer.get(issuer)?.has(prompt));
  }
}

interface Page extends SignInDetails {
  readonly server: AuthorizationServer;
  readonly scope: readonly string[] | undefined;
  /** The sign-in to renew. */
  readonly signInId?: string;
  /** The last sign-in there came back as another account. */
  readonly isChoosing?: boolean;
}

export async function pageOptions(parts: PageParts, page: Page): Promise<PageOptions> {
  const { server, scope, isChoosing = false } = page;
  const loginHint = await knownName(parts, page);
  const prompts: Prompt[] = [];
  // Where a server doesn't say that it has this page, it may answer with an error.
  if (isChoosing && offeredPrompts(server)?.includes('select_account')) prompts.push('select_account');
  if (includesOfflineAccess(scope) && needsConsent(parts.signIns, server)) prompts.push('consent');
  return { prompts: parts.refusedPrompts.without(server.issuer, prompts), loginHint };
}

/** Undefined: the server doesn't say. */
function offeredPrompts({ metadata }: AuthorizationServer): readonly unknown[] | undefined {
  const offered = metadata['prompt_values_supported'];
  return Array.isArray(offered) ? offered : undefined;
}

/** Text before and after an @: servers accept that as a user name, and a label rarely looks so. */
const address = /^[^\s@]+@[^\s@]+$/;

/** The name in the sign-in's last ID token, for that same issuer; else a label that is an address. */
async function knownName(
  { signIns, refresher }: PageParts,
  { server, signInId, account }: Page,
): Promise<string | undefined> {
  const meant = signIns
    .all()
    .filter((signIn) => signIn.issuer === server.issuer)
    .find((signIn) => (signInId === undefined ? signIn.account === account : signIn.id === signInId));
  if (meant) {
    const secret = await refresher.secrets.readIfThere(meant);
    if (secret?.loginHint !== undefined) return secret.loginHint;
  }
  // The server has moved: its new issuer is not told who signed in at the old one.
  if (signInId !== undefined && !meant) return undefined;
  return account !== undefined && address.test(account) ? account : undefined;
}

/**
 * OpenID Connect Core §11: a provider may give a refresh token for offline_access only after `prompt=consent`. Most
 * give one without, and some let nobody but an administrator consent, so that the newest sign-in there decides: none
 * came without the prompt, or one came with it.
 */
function needsConsent(signIns: SignIns, server: AuthorizationServer): boolean {
  if (offeredPrompts(server)?.includes('consent') === false) return false;
  const told = lastOffline(signIns, server.issuer);
  return told !== undefined && told.hasCome === told.byConsent;
}

type Offline = NonNullable<SignIn['offline']>;

function lastOffline(signIns: SignIns, issuer: string): Offline | undefined {
  const there = signIns.all().filter((signIn) => signIn.issuer === issuer && signIn.offline !== undefined);
  return there.toSorted((one, other) => (other.signedInAt ?? 0) - (one.signedInAt ?? 0))[0]?.offline;
}

/** What a sign-in with offline_access shows about its server. A prompt that made no difference is not sent again. */
export function offlineOutcome(
  signIns: SignIns,
  issuer: string,
  outcome: { readonly hasCome: boolean; readonly prompts: readonly Prompt[] },
): Offline {
  const { hasCome, prompts } = outcome;
  const before = lastOffline(signIns, issuer);
  const isVain = !hasCome && before?.byConsent === true && !before.hasCome;
  return { hasCome, byConsent: prompts.includes('consent') || isVain };
}
