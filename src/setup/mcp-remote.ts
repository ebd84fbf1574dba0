/**
 * The arguments of mcp-remote (0.15.1), in whose place an entry of a client's configuration may name the bridge.
 *
 * Invariant: every one of its flags is in one of three lists: the bridge does the same, or needs it no more and
 * says so in one line, or refuses it and names the command of Keyturn's, because it says who signs in or where a
 * secret goes.
 */
import { KeyturnError, quoted } from '../base/errors.ts';

/** What the bridge takes itself; with a value. */
const own = new Set(['--account', '--as', '--header', '--header-file', '--ignore-tool', '--transport']);

/** Not needed, and why. */
const ignored = new Map([
  ['--allow-http', 'http is for this machine only; the setting insecureLoopback allows it there'],
  ['--debug', 'trouble is told on standard error; keyturn settings set logLevel debug says more'],
  ['--disable-cookies', 'the bridge keeps cookies in memory only, and sends them to this server alone'],
  ['--enable-proxy', 'the bridge takes HTTPS_PROXY and NO_PROXY without it'],
  ['--ipv4', 'the bridge tries both kinds of address'],
  ['--keep-alive', 'the bridge begins a new session where a server has ended the old one'],
  ['--silent', 'nothing is told but trouble'],
]);

/** The same for those with a value. */
const ignoredWithValue = new Map([
  ['--auth-success-url', 'Keyturn shows a page of its own after a sign-in'],
  ['--auth-timeout', 'a request stays open for ten minutes, and the bridge waits 20 s for it'],
  ['--body-timeout', 'the bridge waits as long as the server keeps the connection'],
  ['--callback-path', 'Keyturn chooses the path of its redirect'],
  ['--connect-timeout', 'the bridge tries to connect for 10 s'],
  ['--headers-timeout', 'the bridge waits as long as the server keeps the connection'],
  ['--host', 'Keyturn chooses the host of its redirect'],
  ['--ping-interval', 'the bridge begins a new session where a server has ended the old one'],
  ['--protocol', 'the bridge finds out what the server speaks'],
]);

/** Whose sign-in it is, for which server, and with which secret: that is Keyturn's. */
const refused: Readonly<Record<string, string>> = {
  '--authorize-param':
    'Keyturn asks for tokens by the specification alone. For other scopes: keyturn login URL --scope "A B"',
  '--client-credentials':
    'Enter the client once: keyturn oauth-client add ISSUER --client-id ID --grant-type client_credentials',
  '--client-metadata-url': 'Set it once for all servers: keyturn settings set clientMetadataUrl URL',
  '--device-code': 'Sign in once, before: keyturn login URL --device',
  '--disable-resource-parameter':
    'If the server refuses the parameter: keyturn exception add URL no-resource',
  '--resource':
    'Keyturn takes the resource that the server names. For another account: keyturn login URL --account LABEL; for an entry of its own: --as NAME --account LABEL',
  '--static-oauth-client-info': 'Enter the client once: keyturn oauth-client add ISSUER --client-id ID',
  '--static-oauth-client-metadata':
    'Keyturn registers itself. For other scopes: keyturn login URL --scope "A B"',
  '--token-endpoint':
    'Keyturn takes the endpoint that the issuer publishes. Enter the client once: keyturn oauth-client add ISSUER --client-id ID --grant-type client_credentials',
  '--use-id-token':
    'Keyturn sends access tokens only: an ID token is for the client that signed in (OpenID Connect Core §2)',
};

/** Headers that a request is made of: the bridge sets them itself. */
export const isMadeByBridge = (name: string): boolean =>
  /^(?:connection|content-.*|expect|keep-alive|mcp-.*|transfer-encoding|upgrade)$/i.test(name);

interface Translation {
  /** Ours, and what nobody knows. */
  readonly args: string[];
  /** One line for each that was left out. */
  readonly told: string[];
}

/** Throws `invalid_request` for what is refused. */
export function translated(args: readonly string[]): Translation {
  const kept: string[] = [];
  const told: string[] = [];
  let operands = 0;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const [name = ''] = arg.split('=', 1);
    const hint = Object.hasOwn(refused, name) ? refused[name] : undefined;
    if (hint !== undefined)
      throw new KeyturnError('invalid_request', `The bridge takes no ${quoted(name)}.`, {
        rule: 'Who signs in, and with which secret, is told to Keyturn once, and not in a client’s configuration',
        hint,
      });
    const why = ignored.get(name) ?? ignoredWithValue.get(name);
    if (why !== undefined) {
      told.push(`keyturn bridge: ${name} is not needed: ${why}.`);
      // `--flag=value` is one argument.
      if (ignoredWithValue.has(arg)) at += 1;
    } else if (own.has(arg)) {
      kept.push(arg, ...args.slice(at + 1, at + 2));
      at += 1;
    } else if (arg.startsWith('-')) kept.push(arg);
    else {
      operands += 1;
      if (operands === 2 && /^\d+$/.test(arg))
        told.push(`keyturn bridge: the port ${arg} is not needed: Keyturn chooses the port of its redirect.`);
      else kept.push(arg);
    }
  }
  return { args: kept, told };
}
