/**
 * What the administrator's policy says of a request: its server, its issuer, its program and its feature.
 *
 * Invariant: nothing that takes access away is refused. A method that is added is checked by the fields that it names.
 */
import * as z from 'zod';
import type { Broker } from '../../broker/broker.ts';
import { cliClientId } from '../../broker/records/local-client.ts';
import { providerAt } from '../../broker/records/company.ts';
import { allOverrideNames } from '../../broker/records/override.ts';
import type { Feature, Program } from '../../broker/records/policy.ts';
import { changerOf } from '../../base/system/changers.ts';
import { attestedFileOf } from '../../ipc/peer/program.ts';
import { methodRow } from '../../ipc/protocol/methods.ts';
import type { MethodName } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { brokerClientId } from './client-processes.ts';

const features: Partial<Record<MethodName, Feature>> = {
  'proxy.add': 'proxies',
  'forward.open': 'forwards',
  'key.set': 'apiKeys',
  'key.permission.set': 'apiKeys',
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
  /** The company's identity provider, of a client that is entered. */
  idp: z.object({ issuer: z.string() }).optional(),
  decision: z.string().optional(),
});

/** Throws `policy_refused`. `params` have passed the method's schema. */
export function refuseByPolicy(broker: Broker, caller: Caller, method: MethodName, params: unknown): void {
  const { policy } = broker.parts;
  const { who, effect } = methodRow(method);
  // A proof reads, and serves a request.
  const gives = effect === 'widens' || effect === 'asks' || method === 'token.prove';
  if (policy.file === undefined || !gives || ends.includes(method)) return;
  const { resource, resources = [], url, issuer, idp, decision } = named.parse(params ?? {});
  if (decision === 'deny') return;
  const feature = features[method];
  if (feature !== undefined) policy.refuseFeature(feature);
  if (who === 'client') {
    if (policy.limitsPrograms) policy.refuseProgram(programOf(broker, caller));
    if (broker.parts.clients.proxied(brokerClientId(caller))) policy.refuseFeature('proxies');
  }
  for (const one of [resource, ...resources])
    if (one !== undefined) refusePlace(broker, method, broker.canonical(one));
  if (method === 'token.prove' && url !== undefined) policy.refuseResource(url);
  for (const one of [issuer, idp?.issuer]) if (one !== undefined) policy.refuseIssuer(one);
  const waived = method === 'override.set' ? waivedRule.parse(params) : undefined;
  if (waived?.on) policy.refuseOverride(waived.name);
}

const waivedRule = z.object({ name: z.enum(allOverrideNames), on: z.boolean() });

/** The company's provider, where the person signs in for its servers, is an issuer and no protected server. */
function refusePlace(broker: Broker, method: MethodName, endpoint: string): void {
  const { policy, registrations } = broker.parts;
  const canonical = (issuer: string): string => broker.canonical(issuer);
  const provider = method === 'login.start' ? providerAt(registrations, endpoint, canonical) : undefined;
  if (provider === undefined) policy.refuseResource(endpoint);
  else policy.refuseIssuer(provider);
}

/** The proxy's process asks for a proxied program: what counts is the file that the program was seen with. */
function programOf({ parts }: Broker, caller: Caller): Program {
  const id = brokerClientId(caller);
  if (id === cliClientId) return { name: cliClientId };
  const name = parts.clients.nameOf(id);
  const proxied = parts.clients.proxied(id);
  if (proxied) return { name, ...(proxied.executable === undefined ? {} : fileAt(proxied.executable)) };
  const isElsewhere = parts.clients.originOf(id) !== undefined;
  return { name, ...(isElsewhere ? {} : fileOf(caller)) };
}

/** As it is now: a process may run another program by the same connection. */
function fileOf({ peerNow }: Caller): Pick<Program, 'executable' | 'isChangeable'> {
  const peer = peerNow();
  const executable = peer.kind === 'verified' ? attestedFileOf(peer.pid) : undefined;
  return executable === undefined ? {} : fileAt(executable);
}

function fileAt(executable: string): Pick<Program, 'executable' | 'isChangeable'> {
  return { executable, isChangeable: changerOf(executable) !== undefined };
}
