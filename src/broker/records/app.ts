/**
 * Apps: programs that were paired, the addresses of proxies, and the CLI, which needs no pairing.
 *
 * Invariant: no key is stored here. An app's key is derived from the home's root key, its id
 * and its generation; removing the app makes the key worthless.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { AppAtEndpoint } from './permission.ts';
import type { ProxyRecord } from './proxy.ts';
import type { RecordList } from '../../store/home-document.ts';

export const appSchema = z.object({
  id: z.string(),
  /** As the app called itself. Proves nothing. */
  name: z.string(),
  generation: z.number().int().positive(),
  pairedAt: z.number(),
  /** False until the first good hello; a pairing that never says hello is void. */
  confirmed: z.boolean(),
  executable: z.string().optional(),
  /** The id of the proxy whose address this app is. Its key is given to no one but the process of the proxies. */
  proxy: z.string().optional(),
  /** It was paired through a forward, and its key opens that forward's socket alone. */
  forward: z.object({ label: z.string(), hostKey: z.string().optional() }).optional(),
});

export type App = z.infer<typeof appSchema>;

export type ListedApp = App & {
  /** When it last got a token or an API key from this broker, in milliseconds. */
  readonly lastUsedAt?: number;
};

/**
 * Where a forwarded app runs: the label that the user chose and, for another machine, the fingerprint of its host
 * key as OpenSSH shows it. Another key under the same label is another machine.
 */
export type ForwardOrigin = NonNullable<App['forward']>;

/** Undefined for both: neither is forwarded. */
export const isSameOrigin = (one: ForwardOrigin | undefined, other: ForwardOrigin | undefined): boolean =>
  one?.label === other?.label && one?.hostKey === other?.hostKey;

/** `NAME@LABEL` for a forwarded app: two machines may have apps of one name. */
export const shownName = ({ name, forward }: Pick<App, 'name' | 'forward'>): string =>
  forward === undefined ? name : `${name}@${forward.label}`;

/** `keyturn token` asks under this name; its key is owner.key, so it needs no pairing. */
export const cliAppId = 'cli';

/** The CLI's row in a list: never paired, since its key is the user's. */
const cli: App = { id: cliAppId, name: cliAppId, generation: 1, pairedAt: 0, confirmed: true };

/** Characters of an id that may stand for it. */
const minTyped = 4;

/** How long a fresh key waits for its first hello, in milliseconds. */
const confirmWithin = 60_000;

export class Apps {
  readonly #file: RecordList<App>;
  /** By app and endpoint. In memory: it decides nothing, and a token request does no disk I/O. */
  readonly #lastUsed = new Map<string, Map<string, number>>();

  constructor(file: RecordList<App>) {
    this.#file = file;
  }

  /** To list: verified or not. */
  all(): ListedApp[] {
    return this.#file.shown.map((app) => this.#withLastUse(app));
  }

  /** The paired ones, after the CLI. */
  withCli(): ListedApp[] {
    return [this.#withLastUse(cli), ...this.all()];
  }

  /** Whether an app of this id is recorded, verified or not: the vault isn't opened for an unknown id. */
  isListed(id: string): boolean {
    return this.#file.shown.some((app) => app.id === id);
  }

  /** A paired app whose key still opens the socket at `now` (milliseconds). */
  usable(id: string, now: number): App | undefined {
    return this.#file.items.find((app) => app.id === id && isAlive(app, now));
  }

  /** For a name, an id or its beginning. Throws `not_found`, and `conflict` for what is shared. */
  resolve(nameOrId: string): string {
    if (nameOrId === cliAppId) return cliAppId;
    // The id first: an app that calls itself by another's id must not make that one unreachable.
    if (this.#file.items.some((c) => c.id === nameOrId)) return nameOrId;
    // The beginning too: an app could call itself by the beginning of another's id.
    const found = this.#file.items.filter(
      (app) => shownName(app) === nameOrId || (nameOrId.length >= minTyped && app.id.startsWith(nameOrId)),
    );
    if (found.length === 1 && found[0]) return found[0].id;
    if (found.length > 1) {
      const ids = found.map(({ id }) => id).join(', ');
      throw new KeyturnError(
        'conflict',
        `${found.length} paired apps are called ${quoted(nameOrId)}, or have an id that begins so: ${ids}.`,
        { hint: 'Give the id that `keyturn app list` shows.' },
      );
    }
    throw new KeyturnError('not_found', `No app is paired as ${quoted(nameOrId)}.`, {
      hint: '`keyturn app list` shows the paired apps; a new one pairs itself.',
    });
  }

  /**
   * Throws `conflict` for the name of an app that there is, as `shownName` gives it. Case doesn't matter, and `l`, `1`, `I`
   * and `i` are one letter, and `0` and `O`: a user would take one for the other.
   */
  refuseTaken(name: string, now: number): void {
    const taken = this.#named(name, now);
    if (taken === undefined) return;
    const other = shownName(taken);
    throw new KeyturnError(
      'conflict',
      `The name ${quoted(name)} is taken: there is the app ${quoted(other)}.`,
      {
        rule: 'Names of apps differ in more than case, l, 1 and I, or 0 and O',
        hint:
          taken.id === cliAppId
            ? 'That is the command line itself. Choose another name.'
            : `Choose another name. If this app lost its app key, remove it first: keyturn app remove ${shellWord(other)}`,
      },
    );
  }

  isFree(name: string, now: number): boolean {
    return this.#named(name, now) === undefined;
  }

  #named(name: string, now: number): App | undefined {
    const looks = folded(name);
    return [cli, ...this.#file.shown].find(
      (known) => isAlive(known, now) && folded(shownName(known)) === looks,
    );
  }

  /** To show: verified or not. */
  nameOf(id: string): string {
    if (id === cliAppId) return cliAppId;
    const known = this.#file.shown.find((app) => app.id === id);
    return known ? shownName(known) : id;
  }

  /** Where a forwarded app runs, verified or not; undefined for one of this machine. */
  forwardOf(id: string): ForwardOrigin | undefined {
    return this.#file.shown.find((app) => app.id === id)?.forward;
  }

  async add(
    name: string,
    now: number,
    { executable, forward }: Pick<App, 'executable' | 'forward'> = {},
  ): Promise<App> {
    const app: App = {
      id: newId(),
      name,
      generation: 1,
      pairedAt: now,
      confirmed: false,
      executable,
      forward,
    };
    await this.#file.change((items) => {
      // Another one may have taken the name while the user was asked.
      this.refuseTaken(shownName(app), now);
      return [...items.filter((c) => isAlive(c, now)), app];
    });
    return app;
  }

  /** The app that a proxy's address is. */
  ofProxy(proxy: string): App | undefined {
    return this.#file.items.find((app) => app.proxy === proxy);
  }

  /** The same, verified or not, with its last use. */
  shownOfProxy(proxy: string): ListedApp | undefined {
    const found = this.#file.readable.find((app) => app.proxy === proxy);
    return found && this.#withLastUse(found);
  }

  /** Whether it is a proxy's address, which any program can use that knows it. */
  isProxied(id: string): boolean {
    return this.#file.items.some((app) => app.id === id && app.proxy !== undefined);
  }

  /** The app of a proxy, of the proxy's name. Throws `conflict` if another app has it. */
  async addProxied({ id: proxy, name }: Pick<ProxyRecord, 'id' | 'name'>, now: number): Promise<App> {
    // The broker serves it itself: there is no hello to wait for.
    const app = { id: newId(), name, generation: 1, pairedAt: now, confirmed: true, proxy };
    await this.#file.change((items) => {
      this.refuseTaken(name, now);
      return [...items, app];
    });
    return app;
  }

  async confirm(id: string): Promise<void> {
    const app = this.#file.items.find((c) => c.id === id);
    if (!app || app.confirmed) return;
    await this.#file.change((items) => items.map((c) => (c.id === id ? { ...c, confirmed: true } : c)));
  }

  async remove(id: string): Promise<void> {
    await this.#file.change((items) => items.filter((c) => c.id !== id));
  }

  /** A token or an API key was handed out under this permission. */
  used({ appId, endpoint }: AppAtEndpoint, now: number): void {
    const uses = this.#lastUsed.get(appId) ?? new Map<string, number>();
    this.#lastUsed.set(appId, uses.set(endpoint, now));
  }

  /** When this app last got a token or an API key (milliseconds); undefined if it got none in this run. */
  lastUseOf(id: string): number | undefined {
    const uses = this.#lastUsed.get(id);
    return uses && Math.max(...uses.values());
  }

  /** The same, of one endpoint or API key. */
  lastUseAt({ appId, endpoint }: AppAtEndpoint): number | undefined {
    return this.#lastUsed.get(appId)?.get(endpoint);
  }

  #withLastUse(app: App): ListedApp {
    const lastUsedAt = this.lastUseOf(app.id);
    return lastUsedAt === undefined ? app : { ...app, lastUsedAt };
  }
}

/** As a user could read a name. */
const folded = (name: string): string => name.toLowerCase().replaceAll(/[1i]/g, 'l').replaceAll('0', 'o');

function isAlive({ confirmed, pairedAt }: App, now: number): boolean {
  return confirmed || pairedAt + confirmWithin > now;
}

/** 16 random bytes. None begins with `-`, so that it can be typed after a command as it is. */
function newId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newId() : id;
}
