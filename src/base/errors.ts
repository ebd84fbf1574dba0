/**
 * Every refusal of Keyturn: one hierarchy of errors and one closed table of reasons.
 *
 * Invariant: a message never holds a token, code, verifier, secret or key, and never a server's raw body. Text from
 * outside passes `quoted` first; in a command that a user may copy it passes `shellWord` or `shellOption`. Scripts
 * rely on the table below (docs/reference/errors.md shows it): reason → JSON-RPC code → exit code of the CLI. Messages
 * are English.
 */

import { visible } from './text/visible.ts';

/** Exit codes of the CLI. Stable: scripts branch on them. */
export const exitCodes = {
  ok: 0,
  internal: 1,
  usage: 2,
  interactionNeeded: 3,
  denied: 4,
  signInFailed: 5,
  unreachable: 6,
  locked: 7,
  brokerUnreachable: 8,
  /** `keyturn doctor` or `keyturn setup` worked, and something is left to do. No reason has this code. */
  somethingFound: 9,
  interrupted: 130,
} as const;

export const reasons = {
  internal: { code: -32603, exit: exitCodes.internal },
  parse_error: { code: -32700, exit: exitCodes.internal },
  method_not_found: { code: -32601, exit: exitCodes.internal },
  invalid_request: { code: -32602, exit: exitCodes.usage },
  invalid_resource: { code: -32001, exit: exitCodes.usage },
  invalid_scope: { code: -32002, exit: exitCodes.usage },
  not_found: { code: -32003, exit: exitCodes.usage },
  conflict: { code: -32004, exit: exitCodes.usage },

  consent_required: { code: -32010, exit: exitCodes.interactionNeeded },
  consent_pending: { code: -32011, exit: exitCodes.interactionNeeded },
  login_required: { code: -32012, exit: exitCodes.interactionNeeded },
  login_pending: { code: -32013, exit: exitCodes.interactionNeeded },
  account_required: { code: -32017, exit: exitCodes.interactionNeeded },
  interrupted: { code: -32014, exit: exitCodes.interrupted },

  consent_denied: { code: -32020, exit: exitCodes.denied },
  not_permitted: { code: -32021, exit: exitCodes.denied },
  unpaired: { code: -32022, exit: exitCodes.denied },
  pairing_denied: { code: -32023, exit: exitCodes.denied },

  login_failed: { code: -32030, exit: exitCodes.signInFailed },
  access_denied: { code: -32031, exit: exitCodes.signInFailed },
  metadata_invalid: { code: -32032, exit: exitCodes.signInFailed },
  issuer_mismatch: { code: -32033, exit: exitCodes.signInFailed },
  resource_mismatch: { code: -32034, exit: exitCodes.signInFailed },
  state_mismatch: { code: -32035, exit: exitCodes.signInFailed },
  pkce_unsupported: { code: -32036, exit: exitCodes.signInFailed },
  insecure_url: { code: -32037, exit: exitCodes.signInFailed },
  registration_required: { code: -32038, exit: exitCodes.signInFailed },
  registration_failed: { code: -32039, exit: exitCodes.signInFailed },
  redirect_port_taken: { code: -32040, exit: exitCodes.signInFailed },
  token_invalid: { code: -32041, exit: exitCodes.signInFailed },
  audience_mismatch: { code: -32042, exit: exitCodes.signInFailed },
  scope_insufficient: { code: -32043, exit: exitCodes.signInFailed },
  step_up_exhausted: { code: -32044, exit: exitCodes.signInFailed },
  authorization_not_required: { code: -32045, exit: exitCodes.signInFailed },
  token_rejected: { code: -32047, exit: exitCodes.signInFailed },
  account_mismatch: { code: -32046, exit: exitCodes.signInFailed },
  client_rejected: { code: -32048, exit: exitCodes.signInFailed },
  api_key_rejected: { code: -32064, exit: exitCodes.signInFailed },
  oauth_offered: { code: -32065, exit: exitCodes.signInFailed },
  assertion_invalid: { code: -32067, exit: exitCodes.signInFailed },

  authorization_server_unreachable: { code: -32050, exit: exitCodes.unreachable },
  mcp_server_unreachable: { code: -32051, exit: exitCodes.unreachable },
  host_unreachable: { code: -32053, exit: exitCodes.unreachable },
  rate_limited: { code: -32052, exit: exitCodes.unreachable },

  locked: { code: -32060, exit: exitCodes.locked },
  paused: { code: -32066, exit: exitCodes.locked },
  vault_unreadable: { code: -32061, exit: exitCodes.locked },
  vault_unavailable: { code: -32062, exit: exitCodes.locked },
  file_unreadable: { code: -32063, exit: exitCodes.locked },

  broker_unreachable: { code: -32070, exit: exitCodes.brokerUnreachable },
  broker_running: { code: -32071, exit: exitCodes.brokerUnreachable },
  handshake_failed: { code: -32072, exit: exitCodes.brokerUnreachable },
  socket_unsafe: { code: -32073, exit: exitCodes.brokerUnreachable },
  frame_invalid: { code: -32074, exit: exitCodes.brokerUnreachable },
  broker_stopping: { code: -32075, exit: exitCodes.brokerUnreachable },
  version_unsupported: { code: -32076, exit: exitCodes.brokerUnreachable },
} as const satisfies Record<string, { code: number; exit: number }>;

export type Reason = keyof typeof reasons;

export interface ErrorDetails {
  /** What a user can do next: a command, a setting, a place to look. */
  readonly hint?: string;
  /** The rule that was kept, e.g. `RFC 9207 §2.4`. */
  readonly rule?: string;
  /** The exception that the user may set against this refusal. Never text from outside. */
  readonly exception?: string;
  /** Seconds until another try makes sense. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** A refusal with a stable reason. Everything Keyturn throws on purpose is one of these. */
export class KeyturnError extends Error {
  readonly reason: Reason;
  readonly hint?: string;
  readonly rule?: string;
  readonly exception?: string;
  readonly retryAfter?: number;

  constructor(reason: Reason, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.reason = reason;
    if (details.hint !== undefined) this.hint = details.hint;
    if (details.rule !== undefined) this.rule = details.rule;
    if (details.exception !== undefined) this.exception = details.exception;
    if (details.retryAfter !== undefined) this.retryAfter = details.retryAfter;
  }
}

/** All that a refusal says beside its message, for the same refusal with something changed. */
export function detailsOf({ hint, rule, exception, retryAfter }: KeyturnError): Omit<ErrorDetails, 'cause'> {
  return { hint, rule, exception, retryAfter };
}

/** A rule of the protocol, or our own, forbids to go on. Never retried: another try would break the same rule. */
export class RuleRefusal extends KeyturnError {
  constructor(reason: Reason, message: string, details: ErrorDetails & { readonly rule: string }) {
    super(reason, message, details);
  }
}

/** No answer came, or none that makes sense. It may pass by itself, so it never ends a sign-in. */
export class Unreachable extends KeyturnError {}

/** `reason` of anything thrown; a foreign error counts as `internal`. */
export function reasonOf(error: unknown): Reason {
  return error instanceof KeyturnError ? error.reason : 'internal';
}

/** True for the name of a reason of the table above. */
export function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(reasons, value);
}

/** The longest piece of foreign text in a message, in characters: a sentence, not a page. */
const maxQuoteLength = 200;

/** Foreign text that is safe to show: cut to a bound, in quotation marks. For text from servers, apps and files. */
export function quoted(text: string): string {
  return whole(text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength)}…` : text);
}

/** `quoted`, for a URL: query, fragment and what stands before the host may hold secrets, and are left out. */
export function quotedUrl(text: string): string {
  const bare = text.replace(/[?#].*$/s, '');
  return quoted(bare.replace(/^([a-z][a-z\d+.-]*:)?[\\/]*[^\\/]*@/i, (_, scheme = '') => `${scheme}//`));
}

/** In quotation marks, with what can't be seen as escapes. */
const whole = (text: string): string => visible(JSON.stringify(text));

/** Words that sh, bash, zsh and fish take literally. zsh expands a word that begins with `=`, fish one with `%`. */
const plainWord = /^(?![=%])[\w@%+=:,./-]+$/;

/** cmd.exe and PowerShell take these alike: as they are, and between double quotes. */
const plainOnWindows = /^[\w./:][\w@+=:./?-]*$/;
const quotableOnWindows = /^[\p{L}\p{M}\p{N} \\_@+=:;,&#~./?()-]*(?<!\\)$/u;

type Platform = 'win32' | (string & {});

/** The server roles run without Node's globals, too. */
function ownPlatform(): Platform {
  return globalThis.navigator?.platform.startsWith('Win') ? 'win32' : 'other';
}

/**
 * A value as one argument of a command that a user may paste into a shell. Use it for every value that isn't a
 * constant of the source: a URL may hold `$()`, `;` and quotes. The value is never cut, because a command with half a
 * value is another command. On Windows `VALUE` stands for one that no quotation gives to both shells, such as with `%`.
 */
export function shellWord(text: string, platform: Platform = ownPlatform()): string {
  if (platform === 'win32') return plainOnWindows.test(text) ? text : shellQuoted(text, platform);
  return plainWord.test(text) ? text : shellQuoted(text, platform);
}

function shellQuoted(text: string, platform: Platform): string {
  const shown = visible(text);
  if (platform === 'win32') return shown === text && quotableOnWindows.test(text) ? `"${text}"` : 'VALUE';
  // Every shell takes these literally between double quotes, unlike `$`, backticks, backslashes and `!`.
  if (new RegExp(String.raw`^[\p{L}\p{M}\p{N} _@%+=:,./-]+$`, 'u').test(shown)) return `"${shown}"`;
  // Between single quotes fish reads \\ and \', unlike the other shells. Between double quotes all read these alike.
  return `'${shown.replace(/['\\]/g, (one) => (one === "'" ? `'"'"'` : String.raw`'"\\"'`))}'`;
}

/**
 * An option with its value, as a name of an account or a list of scopes: in quotation marks. A value
 * that begins with a dash is behind `=`: without it, parsers take the value for an option.
 */
export function shellOption(name: string, value: string, platform: Platform = ownPlatform()): string {
  return `--${name}${value.startsWith('-') ? '=' : ' '}${shellQuoted(value, platform)}`;
}

/**
 * `quoted` for text of a server that knows our secrets: leaves out what could be a token, code or key, which is 16 or
 * more characters of mixed case, or 32 or more hex digits. Names of rules, scopes and hosts are usually in lower case,
 * so they pass. Each character is read a few times at most, however long the text is.
 */
export function quotedWithheld(text: string): string {
  const withheld = text.replace(/[\w~+=%-]{16,}/g, (run) =>
    /[a-z]/.test(run) && /[A-Z]/.test(run) ? '…' : run.replace(/[0-9a-f]{32,}|[0-9A-F]{32,}/g, '…'),
  );
  return quoted(withheld);
}

/** A wall-clock instant (milliseconds since 1970) for a sentence or a table: local, to the second. */
export function moment(milliseconds: number): string {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return 'a time far away';
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(two).join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}
