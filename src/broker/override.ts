/**
 * Overrides: rules that the owner waived for one server that errs.
 *
 * Invariant: off unless the owner set it, for exactly this server; every use is shown (list, status,
 * audit). Each breaks a MUST of the specification; PKCE itself is never waived.
 */
import { z } from 'zod';
import type { Overrides } from '../oauth/overrides.ts';
import type { AuthorityStore } from './record-store.ts';

/** The names that people type, and what each waives. */
export const overrideNames = {
  'issuer-mismatch': 'issuerMismatch',
  'no-resource': 'noResource',
  'no-pkce-metadata': 'noPkceMetadata',
} as const satisfies Record<string, keyof Overrides>;

export type OverrideName = keyof typeof overrideNames;

const names = Object.keys(overrideNames) as [OverrideName, ...OverrideName[]];

export const overrideSchema = z.object({
  /** The protected server's canonical endpoint, or the issuer as it is written. */
  server: z.string(),
  names: z.array(z.enum(names)),
});

export type OverrideRecord = z.infer<typeof overrideSchema>;

export class OverrideBook {
  readonly #file: AuthorityStore<OverrideRecord>;

  constructor(file: AuthorityStore<OverrideRecord>) {
    this.#file = file;
  }

  all(): readonly OverrideRecord[] {
    return this.#file.items;
  }

  /** To list: verified or not. */
  shown(): readonly OverrideRecord[] {
    return this.#file.shown;
  }

  /** To list: what is waived for a protected server and its issuer together. */
  shownFor(...servers: readonly string[]): OverrideName[] {
    return namesIn(this.#file.shown, servers);
  }

  for(...servers: readonly string[]): Overrides {
    const waived = namesIn(this.#file.items, servers);
    return Object.fromEntries(waived.map((name) => [overrideNames[name], true]));
  }

  async set(server: string, name: OverrideName, isOn: boolean): Promise<void> {
    await this.#file.change((items) => {
      const others = items.filter((record) => record.server !== server);
      const kept = namesIn(items, [server]).filter((known) => known !== name);
      const next = isOn ? [...kept, name] : kept;
      return next.length > 0 ? [...others, { server, names: next }] : others;
    });
  }
}

function namesIn(records: readonly OverrideRecord[], servers: readonly string[]): OverrideName[] {
  const found = records.filter(({ server }) => servers.includes(server));
  return [...new Set(found.flatMap((record) => record.names))];
}
