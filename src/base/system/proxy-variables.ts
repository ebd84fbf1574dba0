/**
 * Which proxy a request to a server goes through, from the variables and settings for it: as curl reads them. The same
 * for the broker, its proxies and the bridge.
 *
 * Invariant: an empty variable is none. A connection to localhost never goes through a proxy.
 */
import { BlockList, isIP } from 'node:net';
import { KeyturnError } from '../errors.ts';
import type { Environment } from '../paths.ts';

/** curl: the name in small letters first, and a proxy for all schemes last. */
export const proxyNames = ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'] as const;

export const noProxyNames = ['no_proxy', 'NO_PROXY'] as const;

export function firstSet(env: Environment, names: readonly string[]): string | undefined {
  return names.map((name) => env[name]?.trim()).find((text) => text !== undefined && text !== '');
}

/**
 * `HOST:PORT` is an http proxy. Undefined for a proxy of another kind, and for what is no address. A "%" of a password
 * that begins no code is that sign.
 */
export function proxyUrl(text: string): string | undefined {
  const url = text.includes('://') ? text : `http://${text}`;
  const whole = url.replaceAll(/%(?![\da-f]{2})/gi, '%25');
  return /^https?:$/.test(URL.parse(whole)?.protocol ?? '') ? whole : undefined;
}

/** The variable that names the proxy. */
export const proxyName = (env: Environment): string | undefined =>
  proxyNames.find((variable) => firstSet(env, [variable]) !== undefined);

/** The proxy that the environment names. Throws `invalid_request` for one that can't be used: nothing goes past it. */
export function proxyOf(env: Environment): string | undefined {
  const name = proxyName(env);
  if (name === undefined) return undefined;
  const text = firstSet(env, [name]) ?? '';
  const url = proxyUrl(text);
  if (url !== undefined) return url;
  const kind = /^socks/i.test(text) ? 'a SOCKS proxy' : 'no http or https proxy';
  throw new KeyturnError('invalid_request', `${name} names ${kind}, which Keyturn can’t use.`, {
    rule: 'Nothing goes past a proxy that the environment asks for',
    hint: 'Name an http or https proxy in HTTPS_PROXY, or add the server to NO_PROXY. Many SOCKS proxies are an http proxy too.',
  });
}

/** A proxy elsewhere would reach itself by these. Other loopback addresses go where the variables say, as with curl. */
const localhost = new Set(['localhost', '127.0.0.1', '::1']);

/** A list by the rules of NO_PROXY: names with all below them, and addresses, with a port or without; CIDR blocks. */
export class NoProxy {
  readonly #all: boolean;
  readonly #names: readonly (readonly [host: string, port: string])[];
  readonly #blocks = new BlockList();

  constructor(list = '') {
    const entries = list.split(/[\s,]+/).filter((entry) => entry !== '');
    this.#all = entries.includes('*');
    this.#names = entries.flatMap((entry) => this.#name(entry.toLowerCase()));
  }

  isDirect(url: URL): boolean {
    const host = bare(url.hostname);
    const port = url.port || (url.protocol === 'http:' ? '80' : '443');
    const family = isIP(host);
    if (this.#all || localhost.has(host)) return true;
    if (family !== 0 && this.#blocks.check(host, family === 6 ? 'ipv6' : 'ipv4')) return true;
    return this.#names.some(
      ([name, only]) =>
        (only === '' || only === port) && (host === name || (family === 0 && host.endsWith(`.${name}`))),
    );
  }

  #name(entry: string): (readonly [string, string])[] {
    const [, address = '', bits = ''] = /^\[?([\da-f.:]+)\]?\/(\d{1,3})$/.exec(entry) ?? [];
    const family = isIP(address);
    if (family !== 0 && Number(bits) <= (family === 6 ? 128 : 32)) {
      this.#blocks.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
      return [];
    }
    // A bare IPv6 address has colons of its own.
    const [, host = '', port = ''] =
      isIP(entry) === 6 ? [entry, entry] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
    const name = bare(host).replace(/^\*?\./, '');
    return name === '' ? [] : [[name, port]];
  }
}

/** Without the brackets of an IPv6 address, and the full stop of a whole name. */
const bare = (host: string): string => host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
