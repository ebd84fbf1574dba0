/**
 * Overrides: rules that the owner waived for one server that errs.
 *
 * Invariant: off unless the owner set it, for exactly this server; every use is shown (list, status,
 * audit). Each breaks a MUST of the specification; PKCE itself is never waived.
 */
import { z } from 'zod';
import type { Overrides } from '../oauth/overrides.ts';
import type { RecordFile } from './record-file.ts';

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
  readonly #file: RecordFile<OverrideRecord>;

  constructor(file: RecordFile<OverrideRecord>) {
    this.#file = file;
  }

  all(): readonly OverrideRecord[] {
    return this.#file.items;
  }

  /** What is waived for a protected server and its issuer together. */
  namesFor(...servers: readonly string[]): OverrideName[] {
    const found = this.#file.items.filter(({ server }) => servers.includes(server));
    return [...new Set(found.flatMap((record) => record.names))];
  }

  for(...servers: readonly string[]): Overrides {
    return Object.fromEntries(this.namesFor(...servers).map((name) => [overrideNames[name], true]));
  }

  async set(server: string, name: OverrideName, isOn: boolean): Promise<void> {
    const others = this.#file.items.filter((record) => record.server !== server);
    const kept = this.namesFor(server).filter((known) => known !== name);
    const next = isOn ? [...kept, name] : kept;
    await this.#file.save(next.length > 0 ? [...others, { server, names: next }] : others);
  }
}
