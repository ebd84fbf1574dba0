/**
 * Addresses that an MCP server asks the user to open: each is a card first, and the browser opens it after an
 * approval.
 *
 * Invariant: only an app that may reach the server shows an address for it, one at a time. Only https, and http on
 * this machine, is shown or opened, without a user part, in the spelling in which the browser gets it. An app
 * whose card got no approval waits before its next one, each time longer.
 */
import { untilAborted } from '../base/abort.ts';
import { KeyturnError, quotedUrl, RuleRefusal, shellWord } from '../base/errors.ts';
import { keyedMutex } from '../base/mutex.ts';
import { isLoopbackHost } from '../base/text/this-machine.ts';
import { RequestWaits } from './consent/request-waits.ts';
import { allPermissions } from './consent/current-permissions.ts';
import type { BrokerParts } from './parts.ts';
import type { Verdict } from './approval-requests/answer.ts';
import { askUser } from './approval-requests/approval-requests.ts';
import type { AppProcess } from './approval-requests/app-process.ts';
import { apiKeyTarget } from './records/api-key.ts';
import { askedTooSoon } from './refusals/permission-refusals.ts';

export interface UrlRequest {
  readonly appId: string;
  readonly appProcess?: AppProcess;
  /** The MCP server's endpoint, as the app names it. */
  readonly resource: string;
  readonly url: string;
  /** The server's own words about it. */
  readonly message: string;
  /** Aborts when the app disconnects. */
  readonly signal: AbortSignal;
}

/** `decline`: the user denied it. `cancel`: they dismissed it, or gave no answer. */
export type UrlAction = 'accept' | 'decline' | 'cancel';

/** Addresses of one app that may wait behind the one on the card: more than that is no dialogue. */
const maxWaiting = 4;

interface Shown extends UrlRequest {
  readonly endpoint: string;
}

export class ShownUrls {
  readonly #parts: BrokerParts;
  readonly #inTurn = keyedMutex();
  /** By app: how many are on a card or wait for it. */
  readonly #open = new Map<string, number>();
  /** By app. */
  readonly #waits: RequestWaits;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    this.#waits = new RequestWaits(() => parts.clock.now());
  }

  /** Throws `insecure_url`, `consent_required`, `consent_denied`, `rate_limited`, and the signal's reason. */
  async show(request: UrlRequest, endpoint: string): Promise<UrlAction> {
    const { appId, signal } = request;
    const shown = { ...request, endpoint, url: pageUrl(request.url) };
    this.#refuse(shown);
    const open = this.#open.get(appId) ?? 0;
    if (open > maxWaiting) throw tooMany(this.#parts.apps.nameOf(appId));
    this.#open.set(appId, open + 1);
    const turn = this.#inTurn(appId, () => this.#ask(shown)).finally(() => this.#leave(appId));
    return untilAborted(turn, signal);
  }

  #leave(appId: string): void {
    const left = (this.#open.get(appId) ?? 1) - 1;
    if (left > 0) this.#open.set(appId, left);
    else this.#open.delete(appId);
  }

  #refuse({ appId, endpoint, appProcess }: Shown): void {
    const name = this.#parts.apps.nameOf(appId);
    const wanted = { appId, endpoint, scope: [], interaction: 'never', appProcess } as const;
    const key = this.#parts.apiKeys.for(endpoint);
    // By tokens or by an API key; what was denied of either is denied here.
    const allowed = [
      ...allPermissions(this.#parts, wanted),
      ...(key ? allPermissions(this.#parts, { ...wanted, endpoint: apiKeyTarget(key), apiKey: key }) : []),
    ];
    if (allowed.length === 0) throw notAllowed(name, endpoint);
    const retryAfter = this.#waits.left(appId);
    if (retryAfter > 0) throw askedTooSoon(name, retryAfter);
  }

  async #ask(shown: Shown): Promise<UrlAction> {
    const { appId, endpoint, url, message, signal, appProcess: process } = shown;
    signal.throwIfAborted();
    // The card before this one took its time.
    this.#refuse(shown);
    const { apps, openBrowser } = this.#parts;
    const appName = apps.nameOf(appId);
    const appProcess = process?.currentFacts();
    const question = { kind: 'url', appId, appName, endpoint, url, message, appProcess } as const;
    const { verdict } = await askUser(this.#parts, question, signal).catch((error: unknown) => {
      if (signal.aborted) this.#settle(shown, 'withdrawn');
      throw error;
    });
    this.#settle(shown, verdict);
    // Without a browser the user still has the address: the question shows it.
    if (verdict === 'approve') openBrowser(url).catch(() => undefined);
    return actions[verdict];
  }

  #settle({ appId, endpoint, url }: Shown, outcome: Verdict | 'withdrawn'): void {
    if (outcome === 'approve') this.#waits.end(appId);
    else this.#waits.lengthen(appId, endpoint);
    const app = this.#parts.apps.nameOf(appId);
    this.#parts.audit.note({ event: 'url', outcome: outcomes[outcome], app, endpoint, url });
  }
}

const actions: Readonly<Record<Verdict, UrlAction>> = {
  approve: 'accept',
  deny: 'decline',
  dismiss: 'cancel',
  void: 'cancel',
};

const outcomes: Readonly<Record<Verdict | 'withdrawn', string>> = {
  approve: 'opened',
  deny: 'declined',
  dismiss: 'put off',
  void: 'void',
  withdrawn: 'withdrawn',
};

/** As the browser gets it: a name of other letters in its `xn--` form. Throws `insecure_url`. */
function pageUrl(text: string): string {
  // The parser drops tabs and line breaks, and trims spaces, in silence.
  if (/[\p{C}\p{Z}]/u.test(text)) throw refusal(text, 'it has characters that no address has');
  const url = URL.parse(text);
  if (url === null) throw refusal(text, 'it is no absolute URL');
  const isLocal = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !isLocal)
    throw refusal(text, 'it is neither https nor http on this machine');
  // A name before the host makes one host look like another.
  if (url.username !== '' || url.password !== '')
    throw refusal(text, 'it has a name or a password before its host');
  return url.href;
}

function refusal(text: string, problem: string): RuleRefusal {
  return new RuleRefusal('insecure_url', `Refused to show an address: ${problem}: ${quotedUrl(text)}.`, {
    rule: 'The browser opens only https, and http on this machine',
    hint: 'Tell the operator of the server.',
  });
}

function notAllowed(name: string, endpoint: string): KeyturnError {
  const problem = `${name} may not reach ${endpoint}, and so shows no address for it.`;
  return new KeyturnError('consent_required', problem, {
    rule: 'An app shows addresses of servers that it may reach',
    hint: `Allow it with: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)}`,
  });
}

function tooMany(name: string): KeyturnError {
  return new KeyturnError('rate_limited', `${maxWaiting + 1} addresses of ${name} wait for you already.`, {
    rule: `One address of an app is on a card at a time, and ${maxWaiting} more wait`,
    hint: 'Answer the card; `keyturn request list` shows it.',
  });
}
