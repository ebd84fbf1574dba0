/**
 * The agent for what a server here fetches: documents, key sets, an upstream.
 *
 * Invariant: beside Node's and the system's authorities it trusts those that the operator named, by an option or by
 * NODE_EXTRA_CA_CERTS.
 */
import { getCACertificates } from 'node:tls';
import type { Dispatcher } from 'undici';
import type { FindAddresses, Reach } from '../../../base/addresses.ts';
import { makeAgent } from '../../../base/system/https-agent.ts';

/** `authorities`: further ones, as PEM. `find`: how names are looked up, by the system unless given. */
export function operatorAgent(reach: Reach, authorities = '', find?: FindAddresses): Dispatcher {
  return makeAgent({ reach, find, authorities: [...getCACertificates('extra'), authorities].join('\n') });
}
