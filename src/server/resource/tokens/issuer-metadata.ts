/**
 * Where an authorization server has its keys and its introspection endpoint (RFC 8414, OpenID Connect Discovery).
 *
 * Invariant: only a document whose `issuer` is identical to the configured one is used (RFC 8414 §3.3). So the keys
 * of one issuer can't be taken for those of another. Whether its URLs are secure, the requests to them check.
 */
import { z } from 'zod';
import { RuleRefusal } from '../../../base/errors.ts';
import type { Http } from '../../../oauth/base/http.ts';
import {
  authorizationServerLocations,
  requireExpectedIssuer,
  requireIssuer,
} from '../../../oauth/discovery/authorization-server.ts';
import { firstMetadata } from '../../../oauth/discovery/metadata-document.ts';

export interface IssuerMetadata {
  readonly jwksUri?: string;
  readonly introspectionEndpoint?: string;
  /** Milliseconds since the epoch. */
  readonly freshUntil: number;
}

const schema = z.looseObject({
  jwks_uri: z.string().optional(),
  introspection_endpoint: z.string().optional(),
});

/** Throws issuer_mismatch, metadata_invalid, insecure_url, or Unreachable. */
export async function issuerMetadata(issuer: string, http: Http): Promise<IssuerMetadata> {
  const locations = authorizationServerLocations(requireIssuer(issuer, http));
  const found = await firstMetadata(locations, http, 'authorization_server_unreachable');
  if (found === undefined) throw invalid('is missing');
  requireExpectedIssuer({ identifier: issuer, issuers: [issuer] }, found.json, {});
  const parsed = schema.safeParse(found.json);
  if (!parsed.success) throw invalid('has a wrong form');
  const { jwks_uri: jwksUri, introspection_endpoint: introspectionEndpoint } = parsed.data;
  return {
    ...(jwksUri === undefined ? {} : { jwksUri }),
    ...(introspectionEndpoint === undefined ? {} : { introspectionEndpoint }),
    freshUntil: found.freshUntil,
  };
}

/** Of what the issuer publishes: its metadata, or the key set that it names. */
export function invalid(problem: string, what = 'The metadata'): RuleRefusal {
  return new RuleRefusal('metadata_invalid', `${what} of the authorization server ${problem}.`, {
    rule: 'RFC 8414 §3',
    hint: 'Correct authorizationServers, or tell the operator of the authorization server.',
  });
}
