/**
 * `keyturn token URL`: prints an access token. The lean path: loads the client library and no package.
 *
 * Invariant: stdout gets the token and a newline, the headers of one request, or the JSON answer, and nothing else
 * ever. A rejected token comes in by standard input, never as an argument: argv is public.
 */
import type { Connection } from '../../client/connection.ts';
import { KeyturnError } from '../../base/errors.ts';
import { forwardedSocket } from '../../ipc/wire/forwarded.ts';
import { isBound } from '../../ipc/wire/token-messages.ts';
import type { Challenge, TokenGetParams, TokenResult } from '../../ipc/wire/token-messages.ts';
import { methodPattern, noncePattern } from '../../ipc/wire/values.ts';
import { resourceFrom, waitFrom, UsageError, accountFrom, scopeFrom } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { connect, interruptible, throughRestart } from '../broker/connection.ts';
import { watchLater } from '../waiting/watch-later.ts';
import { print, printJson, say } from '../terminal/output.ts';
import { type Input, jsonOption, type Statement } from '../terminal/statement.ts';
import {
  noInputOption,
  timeoutOption,
  validityOption,
  tokenExits,
  tokenOptions,
} from '../terminal/token-options.ts';
import { readStandardInput } from '../terminal/standard-input.ts';

const statement = {
  name: 'token',
  summary: 'Print an access token for an MCP server',
  operands: [{ name: 'URL' }],
  options: {
    ...tokenOptions(),
    'min-validity': validityOption('the token'),
    status: {
      type: 'string',
      value: '401|403',
      values: ['401', '403'],
      summary: 'the MCP server answered this to the last token',
    },
    challenge: { type: 'string', value: 'TEXT', summary: 'the WWW-Authenticate header of that answer' },
    'rejected-token-stdin': { type: 'boolean', summary: 'read that token from standard input' },
    dpop: { type: 'string', value: 'METHOD', summary: 'print the headers of one request with this method' },
    url: {
      type: 'string',
      value: 'URL',
      summary: 'with --dpop: where that request goes',
      more: ' (default URL)',
    },
    nonce: { type: 'string', value: 'NONCE', summary: 'with --dpop: the DPoP-Nonce of the last answer' },
    'no-input': noInputOption,
    timeout: timeoutOption('how long to wait for you', '5m'),
    json: jsonOption('the token, when it expires and its scopes'),
  },
  about: 'Print an access token for an MCP server.',
  notes: [
    'The token goes to standard output, everything else to standard error. It needs a permission once: `keyturn app allow cli URL`',
    'A token that is bound to a DPoP key is useless without a proof. --dpop prints it with a proof for one request, as lines of headers; for any other token, its one header.',
  ],
  exitCodes: { 0: 'token', 1: 'internal', 2: 'usage', ...tokenExits },
  examples: [
    'keyturn token https://notes.example/mcp',
    'keyturn token https://notes.example/mcp --no-input --json',
    `token=$(keyturn token https://notes.example/mcp) &&
  printf 'Authorization: Bearer %s' "$token" |
  curl --fail-with-body -H @- -H 'Accept: application/json, text/event-stream' --json @call.json https://notes.example/mcp`,
    'keyturn token https://notes.example/mcp --status 403 --challenge "$header"',
    `headers=$(keyturn token https://notes.example/mcp --dpop GET) &&
  printf '%s\\n' "$headers" | curl -H @- https://notes.example/mcp`,
  ],
} as const satisfies Statement;

export const command = defineCommand(statement, async (input) => {
  const request = await requestFrom(input);
  // A broker that dies in the middle is started again, and asked the same.
  return throughRestart((reached) => ask(request, reached));
});

interface TokenRequest {
  readonly params: TokenGetParams;
  readonly rejected: string | undefined;
  readonly json: boolean;
  /** The request that needs a proof. */
  readonly proofRequest: DpopProof | undefined;
}

interface DpopProof {
  readonly method: string;
  readonly url: string;
  readonly nonce?: string;
}

async function requestFrom({ options, operands }: Input<typeof statement>): Promise<TokenRequest> {
  const [resource] = operands;
  const { status, challenge: header, json = false, 'rejected-token-stdin': isRejected = false } = options;
  const minimumValidity = waitFrom(options['min-validity'], '--min-validity');
  const timeout = waitFrom(options.timeout, '--timeout');
  // Otherwise the broker would answer with the rejected token: it can't know which one that was.
  if (status === '401' && header === undefined && !isRejected)
    throw new KeyturnError('invalid_request', '--status 401 does not say which token was rejected.', {
      rule: 'A token is replaced once it is known which one its server rejected',
      hint: 'Give that token on standard input: --rejected-token-stdin. Or name the answer: --challenge TEXT',
    });
  const challenge = challengeFrom(status, header);
  return {
    params: {
      resource: resourceFrom(resource),
      ...scopeFrom(options.scope),
      ...accountFrom(options.account),
      minimumValidity,
      timeout,
      challenge,
      interaction: options['no-input'] ? 'never' : 'allow',
    },
    rejected: isRejected ? await tokenFromStdin() : undefined,
    json,
    proofRequest: proofRequestFrom(resourceFrom(resource), options),
  };
}

function proofRequestFrom(
  resource: string,
  { dpop: method, url: at, nonce }: Input<typeof statement>['options'],
): DpopProof | undefined {
  if (method === undefined) {
    if (at === undefined && nonce === undefined) return undefined;
    throw new UsageError('--url and --nonce go with --dpop METHOD');
  }
  if (!methodPattern.test(method)) throw new UsageError('--dpop wants an HTTP method, e.g. POST');
  if (nonce !== undefined && !noncePattern.test(nonce))
    throw new UsageError('--nonce wants a nonce as it came');
  const url = URL.parse(at ?? resource);
  if (!url) throw new UsageError('--url wants an absolute URL');
  // RFC 9449 §4.2: a proof is for the URL without its query.
  const request = { method, url: url.origin + url.pathname };
  return nonce === undefined ? request : { ...request, nonce };
}

function challengeFrom(status: '401' | '403' | undefined, header: string | undefined): Challenge | undefined {
  if (status === undefined && header === undefined) return undefined;
  const assumed = header !== undefined && /insufficient_scope/i.test(header) ? '403' : '401';
  return { status: (status ?? assumed) === '403' ? 403 : 401, wwwAuthenticate: header };
}

async function tokenFromStdin(): Promise<string> {
  const token = (await readStandardInput()).trim();
  if (token === '' || /\s/.test(token))
    throw new UsageError('--rejected-token-stdin wants one token on standard input');
  return token;
}

async function ask(request: TokenRequest, reached: () => void): Promise<void> {
  // At the far end of a forward this command is an app, paired under its own name: the owner is elsewhere.
  const connection = forwardedSocket(process.env)
    ? await (await import('../apps/entry-connect.ts')).connectForwardedToken(request.params)
    : await connect();
  reached();
  return interruptible(connection, () => printToken(connection, request));
}

async function printToken(
  connection: Connection,
  { params, rejected, json, proofRequest }: TokenRequest,
): Promise<void> {
  let watching: NodeJS.Timeout | undefined;
  let wanted = params;
  try {
    if (rejected !== undefined) {
      const { challenge } = params;
      const { status = 401 } = challenge ?? {};
      const { retryAfter } = await connection.rejectToken({ access_token: rejected, status, challenge });
      // The broker doesn't replace it for now. Asked with the refusal, it says why and gives no token.
      if (retryAfter !== undefined) wanted = { ...params, challenge: challenge ?? { status: 401 } };
    }
    const watch = (): void => {
      clearTimeout(watching);
      watching = watchLater(connection, params);
    };
    watch();
    const token = await connection.getToken(wanted, { onBrokerChange: watch });
    const proof =
      proofRequest &&
      isBound(token) &&
      (await connection.proveToken({ tokenId: token.tokenId, ...proofRequest }));
    if (json) printJson(proof ? { ...token, proof } : token);
    else if (proofRequest) for (const line of headersOf(token, proof)) print(line);
    else print(token.access_token);
    if (isBound(token) && !proofRequest)
      say(
        'keyturn: this token is bound to a DPoP key: each request with it needs a proof. --dpop METHOD prints both for one request.',
      );
    const { expires_in: left = Infinity } = token;
    // The broker has fetched a new one where that would live longer.
    if (left < (params.minimumValidity ?? 0))
      say(
        `keyturn: this token lives ${left} s more, less than --min-validity asks for. Keyturn has none that lives longer.`,
      );
  } catch (error) {
    const { explained } = await import('../broker/versions.ts');
    throw explained(error, connection);
  } finally {
    clearTimeout(watching);
  }
}

/** RFC 9449 §7.1, RFC 6750 §2.1. */
function headersOf({ access_token: token }: TokenResult, proof: string | undefined | false): string[] {
  return proof ? [`Authorization: DPoP ${token}`, `DPoP: ${proof}`] : [`Authorization: Bearer ${token}`];
}
