/**
 * The system's proxy for a URL, from Chromium's answer in the words of a PAC file.
 *
 * Invariant: the first entry that we can use counts; where there is none, nothing is sent past a proxy
 * that the system asks for. SOCKS is none that we can use: undici's way through it is experimental.
 */
import { Unreachable } from '../../src/base/errors.ts';

/** `DIRECT`, `PROXY host:port`, `HTTPS host:port`, parted by semicolons. Answers a URL, or undefined for direct. */
export function proxyFrom(answer: string): string | undefined {
  for (const entry of answer.split(';').map((text) => text.trim())) {
    const [kind = '', address = ''] = entry.split(/\s+/, 2);
    const scheme = schemes[kind.toUpperCase()];
    if (kind.toUpperCase() === 'DIRECT') return undefined;
    if (scheme !== undefined && URL.canParse(`${scheme}://${address}`)) return `${scheme}://${address}`;
  }
  throw new Unreachable(
    'authorization_server_unreachable',
    `The system asks for ${kindIn(answer)}, which Keyturn can’t use.`,
    {
      rule: 'Nothing goes past a proxy that the system asks for',
      hint:
        'Name an http or https proxy: keyturn settings set httpsProxy http://HOST:PORT. Many SOCKS proxies offer one ' +
        'beside. Or name one in the system’s settings.',
    },
  );
}

const kindIn = (answer: string): string =>
  /\bSOCKS/i.test(answer) ? 'a SOCKS proxy' : 'a proxy of another kind';

const schemes: Readonly<Record<string, string>> = { PROXY: 'http', HTTPS: 'https' };
