/**
 * The ports of all proxies: opened and closed so that they follow the broker's list.
 *
 * Invariant: of one proxy at most one port is open, that of the newest list. One that was replaced while it was being
 * opened neither listens nor reports afterwards.
 */
import type { PortState, ProxyEntry } from './messages.ts';
import { ProxyPort } from './proxy-port.ts';
import type { Programs } from './programs.ts';

export interface PortsParts {
  readonly programs: Programs;
  readonly report: (entry: string, state: PortState) => void;
}

export class Ports {
  readonly #parts: PortsParts;
  readonly #ports = new Map<string, ProxyPort>();
  /** Those whose port could not be opened. */
  readonly #closed = new Map<string, ProxyEntry>();

  constructor(parts: PortsParts) {
    this.#parts = parts;
  }

  serve(entries: readonly ProxyEntry[]): void {
    const isThere = (entry: ProxyEntry): boolean =>
      entries.some(({ id, port, path }) => id === entry.id && port === entry.port && path === entry.path);
    for (const [id, port] of this.#ports) {
      if (isThere(port.entry)) continue;
      this.#ports.delete(id);
      port.close();
    }
    this.#closed.clear();
    for (const entry of entries) if (!this.#ports.has(entry.id)) void this.#open(entry);
    void this.#parts.programs.keep(entries);
  }

  /** Tries the ports again that could not be opened. */
  retry(): void {
    for (const entry of this.#closed.values()) void this.#open(entry);
  }

  async #open(entry: ProxyEntry): Promise<void> {
    const port = new ProxyPort(entry, this.#parts.programs);
    this.#ports.set(entry.id, port);
    this.#closed.delete(entry.id);
    const state = await port.open();
    // A newer list has another port in its place, or none.
    if (this.#ports.get(entry.id) !== port) return;
    if (state !== 'open') {
      this.#ports.delete(entry.id);
      this.#closed.set(entry.id, entry);
    }
    this.#parts.report(entry.id, state);
  }
}
