/**
 * Overrides: rules that the owner waived for one server that errs, or for one host in a private network.
 *
 * Invariant: off unless the owner set it, for exactly this server or host;
 * every use is shown (list, status, audit). All but `private-address` break a MUST of the specification;
 * PKCE itself is never waived.
 */
import { z } from 'zod';
import type { Overrides } from '../../oauth/base/overrides.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import type { AuthorityStore } from '../../store/record-store.ts';

/** The names that people type, and what each waives of the specification. */
const overrideNames = {
  'issuer-mismatch': 'issuerMismatch',
  'no-resource': 'noResource',
  'no-pkce-metadata': 'noPkceMetadata',
  audience: 'otherAudience',
} as const satisfies Record<string, keyof Overrides>;

/**
 * Confirms that a host may have a private address (src/base/addresses.ts). It counts for the host, at any port and
 * path.
 */
export const privateAddress = 'private-address';

export type OverrideName = keyof typeof overrideNames | typeof privateAddress;

const allOverrideNames = [privateAddress, ...Object.keys(overrideNames)] as [OverrideName, ...OverrideName[]];

export const overrideSchema = z.object({
  /** The MCP server's canonical endpoint, the issuer as it is written, or a host as `hostOrigin` writes it. */
  server: z.string(),
  names: z.array(z.enum(allOverrideNames)),
});

export type OverrideRecord = z.infer<typeof overrideSchema>;

/** Fewer rules are waived. */
export const overrideRules: RecordRules<OverrideRecord> = {
  keyOf: ({ server }) => server,
  isLess: ({ names }, before) => names.every((name) => before?.names.includes(name)),
};

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

  /** To list: what is waived for an MCP server and its issuer together. */
  shownFor(...servers: readonly string[]): OverrideName[] {
    return namesIn(this.#file.shown, servers);
  }

  for(...servers: readonly string[]): Overrides {
    const waived = namesIn(this.#file.items, servers).filter((name) => name !== privateAddress);
    return Object.fromEntries(waived.map((name) => [overrideNames[name], true]));
  }

  /** True if the owner confirmed that the host of this URL may have a private address. */
  isPrivate(url: string): boolean {
    return namesIn(this.#file.items, [url]).includes(privateAddress);
  }

  async set(server: string, name: OverrideName, isOn: boolean): Promise<void> {
    await this.#file.change((items) => {
      const others = items.filter((record) => record.server !== server);
      const before = items.find((record) => record.server === server)?.names ?? [];
      const kept = before.filter((known) => known !== name);
      const next = isOn ? [...kept, name] : kept;
      return next.length > 0 ? [...others, { server, names: next }] : others;
    });
  }
}

/** How a host is written down: `https://` and the host of this URL, without port, path or a dot at its end. */
export function hostOrigin(url: string): string {
  return `https://${new URL(url).hostname.replace(/\.$/, '')}`;
}

function namesIn(records: readonly OverrideRecord[], servers: readonly string[]): OverrideName[] {
  const hosts = servers.filter((server) => URL.canParse(server)).map(hostOrigin);
  const found = records.flatMap((record) =>
    record.names.filter((name) => (name === privateAddress ? hosts : servers).includes(record.server)),
  );
  return [...new Set(found)];
}
