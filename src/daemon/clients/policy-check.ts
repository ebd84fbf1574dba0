/**
 * What the administrator's policy says of a request: its server, its issuer, its program and its feature.
 *
 * Invariant: nothing that takes access away is refused. A method that is added is checked by the fields that it names.
 */
import * as z from 'zod';
import type { Broker } from '../../broker/broker.ts';
import { cliClientId, isChild } from '../../broker/records/local-client.ts';
import type { Feature, Program } from '../../broker/records/policy.ts';
import { methodRow } from '../../ipc/protocol/methods.ts';
import type { MethodName } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { brokerClientId } from './client-processes.ts';

const features: Partial<Record<MethodName, Feature>> = {
  'proxy.add': 'proxies',
  'forward.open': 'forwards',
  'key.set': 'apiKeys',
  'key.permission.set': 'apiKeys',
  'lease.delegate': 'delegation',
  'grant.export': 'moving',
  'grant.import': 'moving',
};

/** They end a permission. A denial that ends so opens nothing: what the policy forbids stays forbidden. */
const ends: readonly MethodName[] = ['permission.end', 'key.permission.end'];

/** The fields by which requests name servers. */
const named = z.object({
  resource: z.string().optional(),
  resources: z.array(z.string()).optional(),
  /** Of a proof: the address of one request. */
  url: z.string().optional(),
  issuer: z.string().optional(),
  decision: z.string().optional(),
});

/** Throws `policy_refused`. `params` have passed the method's schema. */
export function refuseByPolicy(broker: Broker, caller: Caller, method: MethodName, params: unknown): void {
  const { policy } = broker.parts;
  const { who, effect } = methodRow(method);
  // A proof reads, and serves a request.
  const gives = effect === 'widens' || effect === 'asks' || method === 'token.prove';
  if (policy.file === undefined || !gives || ends.includes(method)) return;
  const { resource, resources = [], url, issuer, decision } = named.parse(params ?? {});
  if (decision === 'deny') return;
  const feature = features[method];
  if (feature !== undefined) policy.refuseFeature(feature);
  if (who === 'client') {
    const program = programOf(broker, caller);
    policy.refuseProgram(program);
    if (program.isProxied) policy.refuseFeature('proxies');
  }
  for (const one of [resource, ...resources])
    if (one !== undefined) policy.refuseResource(broker.canonical(one));
  if (method === 'token.prove' && url !== undefined) policy.refuseResource(url);
  if (issuer !== undefined) policy.refuseIssuer(issuer);
}

/** The proxy's process asks for a proxied program: what counts is the file that the program was seen with. */
function programOf({ parts }: Broker, caller: Caller): Program & { readonly isProxied: boolean } {
  const id = brokerClientId(caller);
  const name = id === cliClientId ? cliClientId : parts.clients.nameOf(id);
  const proxied = parts.clients.proxied(id);
  if (proxied) return { name, executable: proxied.executable, isProxied: true };
  const isElsewhere = parts.clients.originOf(id) !== undefined && !isChild(id);
  const seen = !isElsewhere && caller.peer.kind === 'verified' ? caller.peer.executable : undefined;
  return { name, executable: seen, isProxied: false };
}
