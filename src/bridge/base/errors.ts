/**
 * What the client and the user get when something goes wrong: a JSON-RPC error, and one line.
 *
 * Invariant: says what happened, whether a call may have run, and what to do. Text of a server is quoted and bounded;
 * an error that isn't ours shows its code and nothing else.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { certificateFault } from '../../base/system/connection-faults.ts';
import { systemCode } from '../../base/system-error.ts';
import { lastAnswers } from './limits.ts';
import type { RpcError } from './messages.ts';
import { mayReissue } from './reissue.ts';

const rpc = (code: number, words: string): RpcError => ({ code, message: `Keyturn: ${words}` });

/** Standard codes of JSON-RPC 2.0, §5.1. */
export const rpcErrors = {
  parseError: rpc(-32_700, 'this line is no JSON, and was left out.'),
  notUtf8: rpc(-32_700, 'this line is not in UTF-8, and was left out.'),
  invalidRequest: rpc(
    -32_600,
    'this line is no message of JSON-RPC 2.0, and was left out. Messages are sent one a line.',
  ),
  invalidParams: rpc(-32_602, 'the parameters of this request are no object, and it was left out.'),
  tooLongRequest: rpc(
    -32_600,
    'this line is longer than 64 MiB, which is the most that the bridge takes, and was left out.',
  ),
  tooDeep: rpc(-32_603, 'the answer is nested too deeply to be passed on. The request has run.'),
  duplicateId: rpc(-32_600, 'a request with this id is under way. Each request needs an id of its own.'),
  tooManyRequests: rpc(
    -32_603,
    '1,024 requests are under way, which is the most that the bridge takes. Ask again when some are answered.',
  ),
  inputEnded: rpc(
    -32_603,
    `the input ended, and the server gave no answer within ${lastAnswers / 1000} seconds after it. The request may have run.`,
  ),
  tooManySubscriptions: rpc(
    -32_603,
    'the bridge keeps 1,024 subscriptions for this client, to URIs of 2,048 characters at most, and no more.',
  ),
  tooManyQuestions: rpc(
    -32_603,
    '256 questions of this server wait for the client’s answers, which is the most that the bridge keeps. Ask again when some are answered.',
  ),
  unasked: rpc(
    -32_603,
    'the server asks something before it goes on. This client can’t be asked it, gave no answer, or has answered ten times. The request did not finish.',
  ),
  unknownState: rpc(
    -32_602,
    'no request waits under this requestState any more. Send the request without it.',
  ),
};

/** What is known of a request that has no answer. */
export type Outcome = 'did not run' | 'may have run';

/** A request that ended without the server's answer. */
export class NoAnswer extends KeyturnError {
  readonly outcome: Outcome;
  /** Another try may go well: a server that restarts, a connection that broke. */
  readonly isPassing: boolean;

  constructor(
    message: string,
    outcome: Outcome,
    hint: string,
    { isPassing = false, retryAfter }: { readonly isPassing?: boolean; readonly retryAfter?: number } = {},
  ) {
    super('mcp_server_unreachable', message, { hint, ...(retryAfter !== undefined && { retryAfter }) });
    this.outcome = outcome;
    this.isPassing = isPassing;
  }
}

/** A stream broke, a connection was reset: what the server did with the request, nobody here knows. */
export function brokenStream(method: string, code = ''): NoAnswer {
  // zlib's codes for an answer that isn't coded as its header says (RFC 9110 §8.4).
  if (/^(?:Z_DATA|ERR__ERROR_FORMAT|ZSTD_)/.test(code))
    return new NoAnswer(
      `The answer to ${quoted(method)} is not in the coding that its Content-Encoding names. The request may have run.`,
      'may have run',
      'Tell the server’s operator: a proxy may have decoded the answer and kept the header.',
    );
  const [message, hint] = mayReissue(method)
    ? [
        `The connection to the server broke each time before it answered ${quoted(method)}.`,
        'Ask again when the server is well.',
      ]
    : [
        `The connection to the server broke before it answered ${quoted(method)}. The request may have run.`,
        'See at the server what was done before you ask again: the bridge sends such a request only once.',
      ];
  return new NoAnswer(message, 'may have run', hint, { isPassing: true });
}

/** `words`: what the server says to a message of the protocol. */
export function noTransport(words: string): NoAnswer {
  return new NoAnswer(
    `The server speaks neither streamable HTTP at this URL nor the older transport.${words}`,
    'did not run',
    'Check the URL: it is that of the protocol’s endpoint, often with /mcp at its end, or /sse at an older server.',
  );
}

/** The URL gives no stream that names a URL for messages. */
export class NotOlder extends NoAnswer {
  constructor() {
    super(
      'The server does not speak the older transport (HTTP with SSE) at this URL.',
      'did not run',
      'Check the URL, which often ends with /sse, or leave out --transport.',
    );
  }
}

export function unreachable(origin: string, code: string): NoAnswer {
  const fault = certificateFault(code);
  if (fault)
    return new NoAnswer(
      `The certificate of ${origin} was refused (${code}). The request did not run.`,
      'did not run',
      fault.isUntrusted ? `${fault.advice} Then restart this server in your client.` : fault.advice,
    );
  return new NoAnswer(
    `The server at ${origin} can’t be reached (${code}). The request did not run.`,
    'did not run',
    'See that the server runs and that this machine reaches it, and ask again.',
    { isPassing: true },
  );
}

/** undici's words where a proxy answers CONNECT with anything but 200 (RFC 9110 §9.3.6). Nothing reached the server. */
const connectRefused = /^Proxy response \((\d{3})\)/;

/** Undefined for any other error. `isWithheld`: the proxy is the broker's, which keeps its user name and password. */
export function refusedByProxy(error: unknown, isWithheld: boolean): NoAnswer | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = connectRefused.exec(error.message)?.[1];
  if (status === undefined) return refusedByProxy(error.cause, isWithheld);
  const message = `The proxy refuses to connect to the server (${status}). The request did not run.`;
  const own = 'write HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT into the environment of this entry.';
  if (status !== '407') return new NoAnswer(message, 'did not run', 'Ask the operator of the proxy.');
  return new NoAnswer(
    message,
    'did not run',
    isWithheld
      ? `The broker knows its user name and password and hands them to no app: ${own}`
      : `It wants a user name and a password: ${own}`,
  );
}

/**
 * JSON-RPC's "internal error" for all that the bridge itself reports: the codes of Keyturn's own wire mean other things
 * in this protocol. `data.reason` tells them apart.
 */
const bridgeError = -32_603;

/** Message and hint as sentences on one line. */
function sentences({ message, hint }: KeyturnError): string {
  if (hint === undefined) return message;
  return `${message}${/[.?!:]$/.test(message) ? '' : '.'} ${hint}`;
}

/** A refusal as the client gets it. */
export function rpcErrorOf(error: KeyturnError): RpcError {
  const { reason, hint, rule, retryAfter } = error;
  return {
    code: bridgeError,
    message: `Keyturn: ${sentences(error)}`,
    data: { reason, hint, rule, retryAfter, ...(error instanceof NoAnswer && { outcome: error.outcome }) },
  };
}

/** A refusal as the user reads it, on one line. */
export function userLine(error: KeyturnError): string {
  return `keyturn bridge: ${sentences(error)} (${error.reason})`;
}

/** The code of a failed fetch: its own, or that of what caused it. */
export function networkCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code = systemCode(error);
  return code === 'unknown' ? networkCode(error.cause) : code;
}
