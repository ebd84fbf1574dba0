/**
 * What a server here fetches: documents, key sets, answers of an upstream.
 *
 * Invariant: beside Node's and the system's authorities it trusts those that the operator named, by an option or by
 * NODE_EXTRA_CA_CERTS. No redirect is followed: it could lead to an unchecked host. No more of an answer is kept
 * in memory than the bound and one part of it.
 */
import { getCACertificates } from 'node:tls';
import { fetch, type Dispatcher, type RequestInit } from 'undici';
import type { FindAddresses, Reach } from '../../../base/addresses.ts';
import { KeyturnError } from '../../../base/errors.ts';
import { makeAgent } from '../../../base/system/https-agent.ts';
import { boundedBytes } from '../../../oauth/base/bounded-bytes.ts';

interface OperatorFetchOptions {
  /** Further authorities, as PEM. */
  readonly authorities?: string | undefined;
  /** How names are looked up that must have public addresses; by the system unless given. */
  readonly find?: FindAddresses;
  /** Bytes of an answer. */
  readonly maxLength: number;
}

interface OperatorFetch {
  /** Throws metadata_invalid for a longer answer. */
  fetch(url: string, reach: Reach, init: RequestInit): Promise<Fetched>;
  /** Waits for requests under way. */
  close(): Promise<void>;
}

interface Fetched {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** `authorities`: further ones, as PEM. */
export function trustingAgent(authorities = '', reach: Reach = 'anywhere', find?: FindAddresses): Dispatcher {
  const trusted = [...getCACertificates('extra'), authorities].join('\n');
  return makeAgent({ reach, find, authorities: trusted });
}

export function operatorFetch({ authorities, find, maxLength }: OperatorFetchOptions): OperatorFetch {
  const agents = new Map<Reach, Dispatcher>();
  const agentFor = (reach: Reach): Dispatcher => {
    const known = agents.get(reach);
    if (known !== undefined) return known;
    const agent = trustingAgent(authorities, reach, reach === 'public' ? find : undefined);
    agents.set(reach, agent);
    return agent;
  };
  return {
    async fetch(url, reach, init) {
      const answer = await fetch(url, { ...init, redirect: 'manual', dispatcher: agentFor(reach) });
      const bytes = answer.body === null ? new Uint8Array() : await boundedBytes(answer.body, maxLength);
      if (bytes === undefined) {
        const said = `The answer can’t be used: it is longer than ${maxLength} bytes.`;
        throw new KeyturnError('metadata_invalid', said);
      }
      const headers = Object.fromEntries(answer.headers);
      return { status: answer.status, headers, text: new TextDecoder().decode(bytes) };
    },
    async close() {
      await Promise.all(agents.values().map(async (agent) => agent.close()));
    },
  };
}
