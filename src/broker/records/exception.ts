/**
 * Exceptions: rules that the user waived for one server that errs, or for one host in a private network.
 *
 * Invariant: off unless the user set it, for exactly this server or host;
 * every use is shown (list, status, audit). All but `private-address` break a MUST of the specification;
 * PKCE itself is never waived.
 */
import { z } from 'zod';
import type { Exceptions } from '../../oauth/base/exceptions.ts';
import type { RecordRules } from '../../store/list-rules.ts';
import type { RecordList } from '../../store/home-document.ts';

/** The names that people type, and what each waives of the specification. */
const exceptionNames = {
  'issuer-mismatch': 'issuerMismatch',
  'no-resource': 'noResource',
  'no-pkce-metadata': 'noPkceMetadata',
  audience: 'otherAudience',
} as const satisfies Record<string, keyof Exceptions>;

/** Confirms that a host may have a private address (src/base/addresses.ts), at any port and path. */
export const privateAddress = 'private-address';

export type ExceptionName = keyof typeof exceptionNames | typeof privateAddress;

const allExceptionNames = [privateAddress, ...Object.keys(exceptionNames)] as [
  ExceptionName,
  ...ExceptionName[],
];

export const exceptionSchema = z.object({
  /** The MCP server's canonical endpoint, the issuer as it is written, or a host as `hostOrigin` writes it. */
  server: z.string(),
  names: z.array(z.enum(allExceptionNames)),
});

export type ExceptionRecord = z.infer<typeof exceptionSchema>;

/** Fewer rules are waived. */
export const exceptionRules: RecordRules<ExceptionRecord> = {
  keyOf: ({ server }) => server,
  isLess: ({ names }, before) => names.every((name) => before?.names.includes(name)),
};

export class ExceptionRecords {
  readonly #file: RecordList<ExceptionRecord>;

  constructor(file: RecordList<ExceptionRecord>) {
    this.#file = file;
  }

  all(): readonly ExceptionRecord[] {
    return this.#file.items;
  }

  /** To list: verified or not. */
  shown(): readonly ExceptionRecord[] {
    return this.#file.shown;
  }

  /** To list: what is waived for an MCP server and its issuer together. */
  shownFor(...servers: readonly string[]): ExceptionName[] {
    return namesIn(this.#file.shown, servers);
  }

  for(...servers: readonly string[]): Exceptions {
    const waived = namesIn(this.#file.items, servers).filter((name) => name !== privateAddress);
    return Object.fromEntries(waived.map((name) => [exceptionNames[name], true]));
  }

  /** True if the user confirmed that the host of this URL may have a private address. */
  isPrivate(url: string): boolean {
    return namesIn(this.#file.items, [url]).includes(privateAddress);
  }

  async set(server: string, name: ExceptionName, isOn: boolean): Promise<void> {
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

function namesIn(records: readonly ExceptionRecord[], servers: readonly string[]): ExceptionName[] {
  const hosts = servers.filter((server) => URL.canParse(server)).map(hostOrigin);
  const found = records.flatMap((record) =>
    record.names.filter((name) => (name === privateAddress ? hosts : servers).includes(record.server)),
  );
  return [...new Set(found)];
}
