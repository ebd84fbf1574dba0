/**
 * What a window may ask of the main process: one table of names and schemas, for both ends.
 *
 * Invariant: no row answers a secret, the address of a proxy included, and none hands out a token. A field in which a
 * user types one (a client secret, a passphrase, a pasted address) goes to the main process and never comes back.
 */
import * as z from 'zod';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { proxy, proxyNamed } from '../../src/ipc/protocol/schemas/proxy-schema.ts';
import { clientIdentifier, registration } from '../../src/ipc/protocol/schemas/oauth-client-schema.ts';
import { empty, id } from '../../src/ipc/protocol/schemas/values.ts';
import { maxLength } from '../../src/ipc/wire/limits.ts';

/**
 * A text that a window shows for copying: a command, an address. Lines with nothing invisible in them, and none
 * at the end: what is pasted is what was seen, and no paste ends with the key that runs it.
 */
const copied = z
  .string()
  .max(maxLength.url)
  .regex(/^[^\p{Cc}\p{Cf}]+(\n[^\p{Cc}\p{Cf}]+)*$/u);

/** More than any card has: which questions are of one card, the broker says, and the answer is held to it. */
const maxQuestions = 16;

/** A window doesn't see the address of a proxy, whose path is a secret. `status` lists the proxies. */
const shownProxy = proxy.omit({ url: true });

/** What is found in the clients' files. No value of a header or variable is in it. */
const lookedAt = z.object({
  /** Names this look: `setup.apply` takes entries of the last one only. */
  look: z.string(),
  /** How many runs, of `keyturn setup` or of a window, can be put back. */
  runs: z.int().nonnegative(),
  /** What the entries would start. Absent: no `keyturn` is installed, and nothing was looked at. */
  command: z.string().optional(),
  clients: z.array(
    z.object({
      title: z.string(),
      file: z.string(),
      /** Why nothing in this file is changed. */
      left: z.string().optional(),
      entries: z.array(
        z.object({
          id: z.string(),
          name: z.string(),
          kind: z.literal(['switch', 'bridge', 'left']),
          endpoint: z.string().optional(),
          /** Lines that go (`- `) and come (`+ `). */
          change: z.array(z.string()).optional(),
          /** Why it stays as it is. */
          why: z.string().optional(),
          /** Headers whose secret is in plain text. */
          exposed: z.array(z.string()),
        }),
      ),
    }),
  ),
});

const applied = z.object({
  results: z.array(
    z.object({
      file: z.string(),
      entry: z.string(),
      outcome: z.literal(['switched', 'left']),
      endpoint: z.string(),
      why: z.string().optional(),
      /** Where the secret is now: `vault`, or in the `sealed` backup only. */
      secret: z.literal(['vault', 'sealed']).optional(),
      exposed: z.string().optional(),
    }),
  ),
});

const undone = z.object({
  /** A sentence for each file. */
  lines: z.array(z.string()),
  /** Servers whose API key stays in the vault, though it may be in a file again. */
  keys: z.array(z.string()),
});

const preferences = z.object({
  openAtLogin: z.boolean(),
  /** Show a notification for a question, or if a server needs a new sign-in. */
  notifications: z.boolean(),
  /** Lock the vault when the screen is locked. */
  lockWithScreen: z.boolean(),
  /** Open the window at login too. */
  windowAtLogin: z.boolean(),
  /** The user has seen the welcome. */
  isWelcomed: z.boolean(),
});

export type Preferences = z.infer<typeof preferences>;

/** With what this system can do of them. */
const shownPreferences = preferences.extend({
  /** Whether a lock of the screen is heard, and why it isn't: see screen-lock.ts. */
  screenLock: z.literal(['listening', 'starting', 'noProgram', 'noBus', 'noSystemBus', 'ended']),
});

export type ShownPreferences = z.infer<typeof shownPreferences>;

export const channels = {
  'signIn.list': methods['signIn.list'],
  'signIn.show': methods['signIn.show'],
  'signIn.revoke': methods['signIn.revoke'],
  /** With a client that the user registered by hand: it is entered first (src/daemon/own-client.ts). */
  'signIn.start': {
    params: methods['signIn.start'].params.extend({
      clientId: clientIdentifier.optional(),
      clientSecret: registration.shape.clientSecret,
    }),
    result: methods['signIn.start'].result,
  },
  'signIn.answer': methods['signIn.answer'],
  'app.list': methods['app.list'],
  'app.remove': methods['app.remove'],
  'permission.set': methods['permission.set'],
  'permission.revoke': methods['permission.revoke'],
  'apiKey.list': methods['apiKey.list'],
  'apiKey.remove': methods['apiKey.remove'],
  'apiKey.permission.revoke': methods['apiKey.permission.revoke'],
  'proxy.add': { params: methods['proxy.add'].params, result: z.object({ proxy: shownProxy }) },
  'proxy.rotate': { params: methods['proxy.rotate'].params, result: z.object({ proxy: shownProxy }) },
  'proxy.remove': methods['proxy.remove'],
  /** Its address, to the clipboard, after a press: the window itself never has it. */
  'proxy.copy': { params: proxyNamed, result: empty },
  'forward.list': methods['forward.list'],
  'forward.end': methods['forward.end'],
  'request.list': methods['request.list'],
  'request.answer': methods['request.answer'],
  'oauthClient.add': methods['oauthClient.add'],
  'oauthClient.list': methods['oauthClient.list'],
  'oauthClient.remove': methods['oauthClient.remove'],
  'exception.set': methods['exception.set'],
  'settings.get': methods['settings.get'],
  /** Those that the window offers. None of them names a program, a proxy or an authority: only the command line sets those. */
  'settings.set': {
    params: methods['settings.set'].params.extend({
      name: z.literal(['lockAfter', 'defaultDuration', 'clientMetadataUrl']),
    }),
    result: methods['settings.set'].result,
  },
  /** Whether the command may approve while the Keyturn app is closed. No method of the wire does so. */
  'home.allowCommand': { params: z.object({ isAllowed: z.boolean() }), result: empty },
  'audit.activity': methods['audit.activity'],
  'audit.tail': methods['audit.tail'],
  pause: methods['pause'],
  resume: methods['resume'],
  'vault.lock': methods['vault.lock'],
  'vault.unlock': methods['vault.unlock'],
  'vault.passphrase': methods['vault.passphrase'],
  /** Keeps the secrets of an empty home in a sealed file from now on, and starts the app again. */
  'vault.useFile': { params: empty, result: empty },
  status: methods.status,
  /** A file dialog of the main process; the window never names a path. */
  'audit.export': {
    params: z.object({ format: z.literal(['jsonl', 'csv']) }),
    /** Absent: the user cancelled. `skipped`: lines that aren't rows. */
    result: z.object({ rows: z.int().nonnegative(), skipped: z.int().nonnegative() }).partial(),
  },
  /**
   * The card of these questions is on the screen now; an approval takes effect only some time later. Approving a
   * sign-in opens its page in the browser; the question stays until the sign-in ends.
   */
  'card.shown': { params: z.object({ ids: z.array(id).min(1).max(maxQuestions) }), result: empty },
  /** Answers the questions of one card by one press, each by itself. */
  'card.answer': {
    params: z.object({ answers: z.array(methods['request.answer'].params).min(1).max(maxQuestions) }),
    result: empty,
  },
  /** The card's page needs so many pixels of height; its window takes them as far as the screen has them. */
  'card.fit': { params: z.object({ height: z.int().min(1).max(100_000) }), result: empty },
  /** To the clipboard, after a press. Nothing is ever read from there. */
  'text.copy': { params: z.object({ text: copied }), result: empty },
  /** Clients on this machine, and what would change in their files: see electron/windows/client-setup.ts. */
  'setup.look': { params: empty, result: lookedAt },
  'setup.apply': { params: z.object({ look: id, entries: z.array(id).min(1).max(1000) }), result: applied },
  'setup.undo': { params: empty, result: undone },
  'preferences.get': { params: empty, result: shownPreferences },
  'preferences.set': { params: preferences.partial(), result: shownPreferences },
} as const satisfies Record<string, { readonly params: z.ZodType; readonly result: z.ZodType }>;

export type ChannelName = keyof typeof channels;
export type ParamsOn<C extends ChannelName> = z.input<(typeof channels)[C]['params']>;
export type ResultOn<C extends ChannelName> = z.output<(typeof channels)[C]['result']>;

/** True for the name of a channel of the table. */
export function isChannel(value: unknown): value is ChannelName {
  return typeof value === 'string' && Object.hasOwn(channels, value);
}

/** Errors lose their fields on the way to a window, so a refusal travels as a value. */
export type Envelope<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

/** The part of a window's address after `#`: empty for the main window, or one card. */
export type PageFragment = '' | `card/${string}`;

export interface Refusal {
  /** A reason of errors.ts. */
  readonly reason: string;
  readonly message: string;
  readonly hint?: string;
  readonly rule?: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

/** What preload puts on `window.keyturn`, and the only thing it puts there. */
export interface Bridge {
  /** By which the page writes numbers, dates and times (words/locale.ts). */
  readonly locale: string;
  call<C extends ChannelName>(channel: C, params: ParamsOn<C>): Promise<Envelope<ResultOn<C>>>;
  /** Told that something changed: read the lists again. Answers how to stop listening. */
  onChange(listener: (what: Change) => void): () => void;
}

export type Change = 'signIn.changed' | 'request.changed' | 'status.changed' | 'preferences.changed';
