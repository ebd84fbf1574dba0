/**
 * A `fetch` that trusts one given authority and no other.
 *
 * Invariant: trust is local to this fetch; the process' own list of authorities stays as it is.
 */
import { Agent, fetch as undiciFetch } from 'undici';

export interface TrustingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Ends the connections that were kept open. */
  close(): Promise<void>;
}

/** @param ca PEM text of the authority. */
export function trustingFetch(ca: string): TrustingFetch {
  const agent = new Agent({ connect: { ca } });
  // undici's types and the global ones describe the same objects under two names.
  const untyped = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return {
    fetch: async (input, init) => untyped(input, { ...init, dispatcher: agent }),
    close: async () => agent.destroy(),
  };
}
