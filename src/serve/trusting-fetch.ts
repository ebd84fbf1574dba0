/**
 * A `fetch` that trusts one given authority and no other.
 *
 * Invariant: trust is local to this fetch; the process' own list of authorities stays as it is.
 */
import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';

export interface TrustingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Ends the connections that were kept open. */
  close(): Promise<void>;
}

/** @param ca PEM text of the authority. */
export function trustingFetch(ca: string): TrustingFetch {
  const agent = new Agent({ connect: { ca } });
  const dispatcher = withFetchMetadata(agent, {});
  // undici's types and the global ones describe the same objects under two names.
  const untyped = undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return {
    fetch: async (input, init) => {
      // A `Request` of Node's is none to undici, which would take it for a URL.
      if (!(input instanceof Request)) return untyped(input, { ...init, dispatcher });
      const { url, method, headers, signal, redirect } = input;
      const body = input.body ? await input.arrayBuffer() : undefined;
      return untyped(url, { method, headers: [...headers], body, signal, redirect, ...init, dispatcher });
    },
    close: async () => agent.destroy(),
  };
}

/**
 * The same dispatcher with these Sec-Fetch headers in place of undici's: its fetch says of every request that a script
 * of a page made it.
 */
export function withFetchMetadata(
  dispatcher: Dispatcher,
  metadata: Readonly<Record<string, string>>,
): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    const { 'sec-fetch-mode': _mode, ...headers } = { ...(options.headers as Record<string, string>) };
    return dispatch({ ...options, headers: { ...headers, ...metadata } }, handler);
  });
}
