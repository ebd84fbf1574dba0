/**
 * The words of the wire: constants, message types, and hand-written guards for what a local client
 * reads. No schema library, because `keyturn token` loads this file and its cold start matters.
 *
 * Invariant: nothing that arrived over a socket or from a key file is used before a guard here (or a
 * schema of protocol/, on the daemon's side) has passed it. A test holds the two against each other.
 */
import { isReason, KeyturnError, quoted, type Reason, reasons } from '../../base/errors.ts';

/** The one version of the wire that this release speaks. */
export const protocolVersion = 1;

/** Bytes of one frame before authentication: a hello takes 300, so 16 KiB leaves room and costs little. */
export const handshakeFrameLimit = 16 * 1024;

/** Bytes of one frame after authentication: a list of thousands of grants fits. */
export const frameLimit = 1024 * 1024;

/** Milliseconds for a whole handshake: it takes one, unless a vault must be opened first. */
export const handshakeTimeout = 5000;

/** Characters of a program's name: what fits on one line of the card that shows it. */
export const maxNameLength = 64;

/** The id under which the owner's key (owner.key) says hello; no local client is ever given it. */
export const ownerId = 'owner';

/** Longest texts, in characters. Each is several times what is seen in practice. */
export const longest = {
  /** An identifier: 22 characters for 16 random bytes; a UUID fits. */
  id: 64,
  /** A URL: what common servers and browsers accept. */
  url: 2048,
  /** A scope: some issuers grant dozens of URL-shaped scopes. */
  scope: 4096,
  /** What the user calls an account, or an issuer with a subject. */
  account: 256,
  /** An access token: JWTs with large group claims reach 8 KiB. */
  token: 16 * 1024,
  /** A WWW-Authenticate header: Node refuses header blocks beyond 16 KiB. */
  challenge: 8192,
  /** What a program was about to do, e.g. `POST /reports`. */
  operation: 256,
  /** A method's name. */
  method: 64,
  /** The message or hint of an error. */
  sentence: 2000,
} as const;

/** Runs `run` once after `ms` milliseconds; the function it returns cancels that. */
export type After = (ms: number, run: () => void) => () => void;

/** `After` on the real clock. Never keeps the process alive: the socket it guards does. */
export const after: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};

export type MessageId = string | number;

/** The `error` member of a JSON-RPC answer. `retryAfter` in seconds. */
export interface ErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data?: {
    readonly reason: Reason;
    readonly hint?: string;
    readonly rule?: string;
    readonly retryAfter?: number;
  };
}

export type Message =
  | { readonly kind: 'request'; readonly id: MessageId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: MessageId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: MessageId | null; readonly error: ErrorBody };

/** First message of a paired program. `nonce`: 32 random bytes, base64url. */
export interface HelloParams {
  readonly versions: readonly number[];
  readonly clientId: string;
  readonly nonce: string;
  readonly endpoint: string;
  readonly capabilities: readonly string[];
}

/** `nonce` and `proof`: 32 bytes, base64url. */
export interface HelloResult {
  readonly version: number;
  readonly brokerId: string;
  readonly nonce: string;
  readonly capabilities: readonly string[];
  readonly proof: string;
}

export interface ProveParams {
  readonly proof: string;
}

/** First message of a program that has no key yet. */
export interface PairParams {
  readonly versions: readonly number[];
  readonly name: string;
  readonly endpoint: string;
}

/** Who a local client is. `key`: 32 bytes, base64url. Also the content of a key file, as JSON. */
export interface Identity {
  readonly clientId: string;
  readonly key: string;
  readonly brokerId: string;
}

/** What a protected server answered; a hint to the broker, never an order. */
export interface Challenge {
  readonly status: 401 | 403;
  /** The WWW-Authenticate header as it came. */
  readonly wwwAuthenticate?: string;
}

/** `minimumValidity` and `timeout` in seconds. */
export interface TokenGetParams {
  readonly resource: string;
  readonly scope?: string;
  readonly account?: string;
  readonly minimumValidity?: number;
  readonly challenge?: Challenge;
  readonly operation?: string;
  readonly interaction?: 'never' | 'allow';
  readonly timeout?: number;
}

/** `expires_at`: seconds since 1970. `expires_in`: seconds from the moment of the answer. */
export interface TokenResult {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_at: number;
  readonly expires_in: number;
  readonly scope: string;
  readonly resource: string;
  readonly account: string;
  readonly issuer: string;
  readonly tokenId: string;
}

/** Names the refused token by exactly one of `tokenId` and `access_token`. */
export interface TokenRejectParams {
  readonly tokenId?: string;
  readonly access_token?: string;
  readonly status: number;
  readonly challenge?: Challenge;
  /** What the program was about to do, e.g. `POST /reports`: refusals are counted for each. */
  readonly operation?: string;
  /** The protected server took this very token before: then the refusal says less about the token. */
  readonly worked?: boolean;
}

/**
 * `rejected` true: the next `token.get` brings another token. False: the refused token was no longer current, and
 * `token` is the newer one where the broker gives it; or, with `retryAfter` (seconds), too many tokens were refused,
 * and none is replaced until then.
 */
export interface TokenRejectResult {
  readonly rejected: boolean;
  readonly token?: TokenResult;
  readonly retryAfter?: number;
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string of `least` to `most` characters. */
function isText(value: unknown, most: number, least = 1): value is string {
  return typeof value === 'string' && value.length >= least && value.length <= most;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** An identifier: letters, digits, `-` and `_`, so that it can stand in a line of its own. */
export const idPattern = /^[A-Za-z0-9_-]{1,64}$/;

/** A capability: has neither the comma nor the line feed that the transcript joins with. */
export const capabilityPattern = /^[a-z0-9.-]{1,32}$/;

const versionPrefix = 'version-';

/** The capability by which a broker tells its release; none for one that can't be written so. */
export function versionCapability(version: string): string[] {
  const capability = `${versionPrefix}${version}`;
  return capabilityPattern.test(capability) ? [capability] : [];
}

/** The release that a broker's capabilities name. For display: nothing is decided by it. */
export function versionIn(capabilities: readonly string[]): string | undefined {
  return capabilities.find((item) => item.startsWith(versionPrefix))?.slice(versionPrefix.length);
}

/** The broker's capability that says: a person sits at it, and is asked before anything is widened. */
export const deskCapability = 'desk';

/** A name that a program gives itself: one line of visible text. */
export const namePattern = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]{1,64}$/u;

/** Visible ASCII: whatever may stand after `Bearer ` in a header (RFC 6750 §2.1 allows less). */
export const tokenPattern = /^[\x21-\x7e]+$/;

export function isId(value: unknown): value is string {
  return typeof value === 'string' && idPattern.test(value);
}

/** `bytes` bytes in base64url without padding, in the one canonical spelling. */
export function isBase64url(value: unknown, bytes: number): value is string {
  if (typeof value !== 'string' || value.length !== Math.ceil((bytes * 4) / 3)) return false;
  return Buffer.from(value, 'base64url').toString('base64url') === value;
}

export function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength && namePattern.test(value);
}

/** Capabilities or versions beyond this many are a mistake, not a newer release. */
const maxListLength = 32;

function isCapabilities(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= maxListLength &&
    value.every((item) => typeof item === 'string' && capabilityPattern.test(item))
  );
}

function isVersions(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.length <= maxListLength && value.every(isCount);
}

export function isHelloParams(value: unknown): value is HelloParams {
  return (
    isObject(value) &&
    isVersions(value['versions']) &&
    isId(value['clientId']) &&
    isBase64url(value['nonce'], 32) &&
    isText(value['endpoint'], longest.account) &&
    isCapabilities(value['capabilities'])
  );
}

export function isHelloResult(value: unknown): value is HelloResult {
  return (
    isObject(value) &&
    isCount(value['version']) &&
    isId(value['brokerId']) &&
    isBase64url(value['nonce'], 32) &&
    isCapabilities(value['capabilities']) &&
    isBase64url(value['proof'], 32)
  );
}

export function isProveParams(value: unknown): value is ProveParams {
  return isObject(value) && isBase64url(value['proof'], 32);
}

export function isPairParams(value: unknown): value is PairParams {
  return (
    isObject(value) &&
    isVersions(value['versions']) &&
    isName(value['name']) &&
    isText(value['endpoint'], longest.account)
  );
}

/** Six digits: short enough to compare by eye, and only one try is ever made with it. */
export function isPairCode(value: unknown): value is { readonly code: string } {
  return isObject(value) && typeof value['code'] === 'string' && /^[0-9]{6}$/.test(value['code']);
}

export function isIdentity(value: unknown): value is Identity {
  return (
    isObject(value) && isId(value['clientId']) && isBase64url(value['key'], 32) && isId(value['brokerId'])
  );
}

export function isTokenResult(value: unknown): value is TokenResult {
  return (
    isObject(value) &&
    isText(value['access_token'], longest.token) &&
    tokenPattern.test(value['access_token']) &&
    isText(value['token_type'], longest.id) &&
    isCount(value['expires_at']) &&
    isCount(value['expires_in']) &&
    isText(value['scope'], longest.scope, 0) &&
    isText(value['resource'], longest.url) &&
    isText(value['account'], longest.account, 0) &&
    isText(value['issuer'], longest.url) &&
    isId(value['tokenId'])
  );
}

export function isTokenRejectResult(value: unknown): value is TokenRejectResult {
  return (
    isObject(value) &&
    typeof value['rejected'] === 'boolean' &&
    (value['token'] === undefined || isTokenResult(value['token'])) &&
    (value['retryAfter'] === undefined || isCount(value['retryAfter']))
  );
}

function isMessageId(value: unknown): value is MessageId {
  return Number.isSafeInteger(value) || isText(value, longest.id);
}

function isErrorBody(value: unknown): value is ErrorBody {
  if (!isObject(value) || !Number.isSafeInteger(value['code']) || typeof value['message'] !== 'string')
    return false;
  const data = value['data'];
  return data === undefined || isObject(data);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * One frame as a message. Throws `parse_error` where it isn't JSON in UTF-8, and `frame_invalid`
 * where it isn't a single JSON-RPC 2.0 message (batches are refused: they add nothing on a stream).
 */
export function parseMessage(frame: Uint8Array): Message {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(frame));
  } catch {
    // The parser's own error repeats a piece of the text, which may hold a secret.
    throw new KeyturnError('parse_error', 'a frame is not JSON in UTF-8', { rule: 'JSON-RPC 2.0 §5.1' });
  }
  const message = isObject(value) && value['jsonrpc'] === '2.0' ? asMessage(value) : undefined;
  if (message) return message;
  throw new KeyturnError('frame_invalid', 'a frame is not a single JSON-RPC 2.0 message', {
    rule: 'JSON-RPC 2.0 §4, §5',
  });
}

function asMessage(value: Fields): Message | undefined {
  const { id, method, params, result, error } = value;
  if (method !== undefined) {
    if (!isText(method, longest.method)) return undefined;
    if (id === undefined) return { kind: 'notification', method, params };
    return isMessageId(id) ? { kind: 'request', id, method, params } : undefined;
  }
  if (error !== undefined) {
    if (!isErrorBody(error) || result !== undefined) return undefined;
    return id === null || isMessageId(id) ? { kind: 'error', id, error } : undefined;
  }
  return isMessageId(id) && result !== undefined ? { kind: 'result', id, result } : undefined;
}

/** What a refusal looks like on the wire. A foreign error's text never leaves the process. */
export function errorBody(error: unknown): ErrorBody {
  if (!(error instanceof KeyturnError)) {
    return {
      code: reasons.internal.code,
      message: 'the broker met an error of its own; its log says more',
      data: { reason: 'internal' },
    };
  }
  const { reason, message, hint, rule, retryAfter } = error;
  return {
    code: reasons[reason].code,
    message,
    data: {
      reason,
      ...(hint === undefined ? {} : { hint }),
      ...(rule === undefined ? {} : { rule }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
    },
  };
}

/** Visible text of bounded length; control characters and direction overrides become escapes. */
function shown(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value
    .slice(0, longest.sentence)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) => quoted(c).slice(1, -1));
}

/**
 * The refusal that a proven broker sent. A reason that this release doesn't know becomes `internal`
 * with its message kept.
 */
export function errorFrom(body: ErrorBody): KeyturnError {
  const data: Fields = isObject(body.data) ? body.data : {};
  const reason = data['reason'];
  const hint = shown(data['hint']);
  const rule = shown(data['rule']);
  const retryAfter = data['retryAfter'];
  const message = shown(body.message) ?? 'the broker refused without a word';
  return new KeyturnError(isReason(reason) ? reason : 'internal', message, {
    ...(hint === undefined ? {} : { hint }),
    ...(rule === undefined ? {} : { rule }),
    ...(typeof retryAfter === 'number' && retryAfter >= 0 ? { retryAfter } : {}),
  });
}
