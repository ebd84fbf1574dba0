/**
 * The proxies: addresses of this machine by which programs without a key of their own reach one MCP server.
 *
 * Invariant: an address is a fixed port and an unguessable path. It grants no token: it is an app
 * of its own, under its name, and needs a permission. The path is in the document and in what the
 * broker answers the user, never in a log.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError, quoted } from '../../base/errors.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import type { RecordList } from '../../store/home-document.ts';

/** `status` shows the list unverified, so that its texts are as the wire takes them (ipc/protocol/schemas/proxy-schema.ts). */
export const proxySchema = z.object({
  id: z.string().max(64),
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/),
  /** Canonical endpoint as the user named it, with its query. */
  endpoint: z.string().min(1).max(2048),
  /** With a port that it can't use, the process of the proxies would end again and again. */
  port: z.int().min(1024).max(65_535),
  /** The unguessable part of the address. */
  path: z.string().min(16),
  createdAt: z.number(),
});

export type ProxyRecord = z.infer<typeof proxySchema>;

/** Bytes of an unguessable path: more than the 20 that RFC 6749 §10.10 recommends. */
const pathBytes = 24;

/** A user has a handful; each is a listening port. */
const maxProxies = 32;

/** Its ports are opened before the document is verified. A new path takes the old one away. */
export const proxyRules: RecordRules<ProxyRecord> = {
  keyOf: ({ id }) => id,
  isLess: (after, before) => before?.endpoint === after.endpoint && before.port === after.port,
  atMost: maxProxies,
};

const unguessable = (): string => randomBytes(pathBytes).toString('base64url');

/** What a client is configured with. */
export function addressOf({ port, path }: Pick<ProxyRecord, 'port' | 'path'>): string {
  return `http://127.0.0.1:${port}/${path}/mcp`;
}

export class Proxies {
  readonly #file: RecordList<ProxyRecord>;

  constructor(file: RecordList<ProxyRecord>) {
    this.#file = file;
  }

  /** The records in force. Throws `file_unreadable`. */
  all(): readonly ProxyRecord[] {
    return this.#file.items;
  }

  /** As read, verified or not: for lists, and for the ports to listen on. Empty if the file can't be read. */
  shown(): readonly ProxyRecord[] {
    return this.#file.readable;
  }

  byId(id: string): ProxyRecord | undefined {
    return this.#file.items.find((proxy) => proxy.id === id);
  }

  /** By name, id or, where one proxy leads there, endpoint. Throws `not_found`, `conflict`. */
  resolve(named: string): ProxyRecord {
    const exact = this.#file.items.find(({ id, name }) => id === named || name === named);
    const found = exact ? [exact] : this.#file.items.filter(({ endpoint }) => endpoint === named);
    if (found.length > 1) {
      throw new KeyturnError('conflict', `${found.length} proxies lead to ${quoted(named)}.`, {
        hint: 'Give the name that `keyturn proxy list` shows.',
      });
    }
    if (found[0]) return found[0];
    throw new KeyturnError('not_found', `There is no proxy ${quoted(named)}.`, {
      hint: '`keyturn proxy list` shows the proxies there are.',
    });
  }

  /** Throws `conflict` for a name or a port that is taken, `rate_limited` if there are too many. */
  refuseTaken({ name, port }: Partial<Pick<ProxyRecord, 'name' | 'port'>>): void {
    const { items } = this.#file;
    if (items.length >= maxProxies) {
      throw new KeyturnError('rate_limited', `There are ${items.length} proxies already.`, {
        rule: `A home has ${maxProxies} proxies at most`,
        hint: 'Remove one that is not needed: keyturn proxy remove NAME',
      });
    }
    const other = items.find((proxy) => proxy.name === name || proxy.port === port);
    if (!other) return;
    const what = other.name === name ? `The name ${quoted(name)}` : `Port ${port}`;
    throw new KeyturnError('conflict', `${what} belongs to the proxy for ${other.endpoint}.`, {
      hint: 'Choose another, or remove that proxy first: keyturn proxy remove NAME',
    });
  }

  /** A name for a proxy of which the user named none: the host, with a number where it is taken, here or by an app. */
  nameFor(endpoint: string, isFree: (name: string) => boolean): string {
    const plain = new URL(endpoint).hostname.replace(/[^A-Za-z0-9.-]/g, '').replace(/^[.-]+/, '');
    // Of the address [::] nothing is left.
    const host = plain.slice(0, 24) || 'server';
    const isTaken = (name: string): boolean =>
      !isFree(name) || this.#file.items.some((proxy) => proxy.name === name);
    let name = host;
    for (let number = 2; isTaken(name); number += 1) name = `${host}-${number}`;
    return name;
  }

  /** Throws as `refuseTaken`. */
  async add(proxy: Pick<ProxyRecord, 'name' | 'endpoint' | 'port' | 'createdAt'>): Promise<ProxyRecord> {
    const added = { ...proxy, id: randomBytes(12).toString('hex'), path: unguessable() };
    await this.#file.change((items) => {
      this.refuseTaken(proxy);
      return [...items, added];
    });
    return added;
  }

  /** The same port with another path: the address of before is nobody's. */
  async rotate(id: string): Promise<ProxyRecord> {
    const path = unguessable();
    const rotated = (proxy: ProxyRecord): ProxyRecord => (proxy.id === id ? { ...proxy, path } : proxy);
    await this.#file.change((items) => items.map(rotated));
    return this.resolve(id);
  }

  async remove(id: string): Promise<void> {
    await this.#file.change((items) => items.filter((proxy) => proxy.id !== id));
  }
}
