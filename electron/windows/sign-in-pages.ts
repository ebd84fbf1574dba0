/**
 * When a sign-in's page, or an address that a server names, opens in the browser: after a click, never by itself
 * (invariant 5, dev/internals.md).
 *
 * Invariant: a page that no click asked for waits as a question, in the tray and on its card. A click
 * that led here by another way (an approval, "Sign in again") opens one page, of that very server. An address of a
 * card opens once, exactly as that card showed it. Only https, and http on this machine, is ever opened.
 */
import { endpointOf } from '../../src/oauth/base/resource.ts';
import { isLoopbackHost } from '../../src/base/text/this-machine.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import type { Question } from '../base/summary.ts';

/** Milliseconds between an approval and the page that it leads to: discovery and registration take part of it. */
const maxClickAge = 60_000;

export interface SignInPageParts {
  readonly questions: () => Promise<readonly Question[]>;
  /** Opens a URL in the user's browser. */
  readonly open: (url: string) => Promise<void>;
  /** Milliseconds since some moment; must not jump. */
  readonly now: () => number;
}

/** What a sign-in is for. */
interface SignIn {
  readonly resource: string;
  readonly account?: string | undefined;
}

export class SignInPages {
  readonly #parts: SignInPageParts;
  /** By resource: when the user allowed something there. */
  readonly #allowed = new Map<string, number>();
  /** By resource: sign-ins under way that the user started, and how many pages may still open for them. */
  readonly #started = new Map<string, { running: number; pages: number }>();
  /** Ids of the sign-ins under way whose page has opened. */
  readonly #opened = new Set<string>();
  /** Addresses that the user said yes to on their own cards. */
  readonly #addresses = new Map<string, number>();

  constructor(parts: SignInPageParts) {
    this.#parts = parts;
  }

  /** The user allowed something for this resource: a page for it may open. */
  allowPage(resource: string): void {
    this.#allowed.set(nameOf(resource), this.#parts.now());
  }

  /** The user said yes to the card of this very address: it may open once. */
  allowAddress(url: string): void {
    this.#addresses.set(url, this.#parts.now());
  }

  /** A sign-in that the user started, at this resource: one page of it may open. */
  async withPage<T>(resource: string, signIn: () => Promise<T>): Promise<T> {
    const name = nameOf(resource);
    const started = this.#started.get(name) ?? { running: 0, pages: 0 };
    this.#started.set(name, started);
    started.running += 1;
    started.pages += 1;
    try {
      return await signIn();
    } finally {
      started.running -= 1;
      // Each of those that go on may still open its page; one that ended without a page leaves none over.
      started.pages = Math.min(started.pages, started.running);
      if (started.running === 0) this.#started.delete(name);
    }
  }

  /** The broker has a page to show: an address of a card, or its own one that leads on to a sign-in. */
  async openIfAllowed(url: string): Promise<void> {
    if (takeRecent(this.#addresses, url, this.#parts.now())) return this.#open(url);
    const questions = await this.#parts.questions();
    const question = questions.find((open) => open.startUrl === url);
    if (question?.resource === undefined) return;
    const name = nameOf(question.resource);
    if (this.#takeStart(name) || takeRecent(this.#allowed, name, this.#parts.now()))
      await this.#openPage(question, url, questions);
  }

  /** Whether this sign-in waits for a click: its page is not open, and no click so far leads to it. */
  waits({ id, kind, resource = '', startedBy }: Question): boolean {
    if ((kind !== 'signIn' && kind !== 'device') || startedBy === 'window' || this.#opened.has(id))
      return false;
    const name = nameOf(resource);
    const allowedAt = this.#allowed.get(name);
    const isAllowed = allowedAt !== undefined && isRecent(allowedAt, this.#parts.now());
    return !isAllowed && (this.#started.get(name)?.pages ?? 0) === 0;
  }

  /** The user clicked this very question. Throws `not_found` where it is no sign-in, or over. */
  async open(id: string): Promise<void> {
    const questions = await this.#parts.questions();
    const question = questions.find((open) => open.id === id);
    if (question?.url === undefined) {
      throw new KeyturnError('not_found', 'This sign-in has ended.', {
        hint: 'Sign in again from the list.',
      });
    }
    await this.#openPage(question, question.startUrl ?? question.url, questions);
  }

  /** Opens the page of a sign-in that waits and that a window started for the same. */
  async reopen({ resource, account }: SignIn): Promise<void> {
    const waiting = (await this.#parts.questions()).find(
      (open) =>
        open.kind === 'signIn' &&
        open.startedBy === 'window' &&
        open.account === account &&
        nameOf(open.resource ?? '') === nameOf(resource),
    );
    if (waiting) await this.open(waiting.id);
  }

  #takeStart(name: string): boolean {
    const started = this.#started.get(name);
    if (!started || started.pages === 0) return false;
    started.pages -= 1;
    return true;
  }

  /** `questions`: those that are open now. What is no longer among them is forgotten. */
  async #openPage({ id }: Question, url: string, questions: readonly Question[]): Promise<void> {
    await this.#open(url);
    const open = new Set(questions.map((question) => question.id));
    for (const earlier of this.#opened) if (!open.has(earlier)) this.#opened.delete(earlier);
    this.#opened.add(id);
  }

  async #open(url: string): Promise<void> {
    const parsed = URL.parse(url);
    const isSafe =
      parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackHost(parsed.hostname));
    if (!isSafe) {
      throw new KeyturnError('insecure_url', 'The page is not at an https address.', {
        rule: 'the browser opens only https, and http on this machine',
        hint: 'Tell the operator of the server.',
      });
    }
    await this.#parts.open(url);
  }
}

/** Whether the user clicked for it a short time ago. A click counts once. */
function takeRecent(clicks: Map<string, number>, name: string, now: number): boolean {
  const at = clicks.get(name);
  clicks.delete(name);
  return at !== undefined && isRecent(at, now);
}

const isRecent = (at: number, now: number): boolean => now - at <= maxClickAge;

/** One name for the spellings of one resource. What is no resource the broker refuses. */
function nameOf(resource: string): string {
  try {
    return endpointOf(resource, { allowInsecureLoopback: true });
  } catch {
    return resource;
  }
}
