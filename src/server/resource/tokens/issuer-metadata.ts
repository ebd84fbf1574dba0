/**
 * Where an authorization server has its keys and its introspection endpoint (RFC 8414, OpenID Connect Discovery).
 *
 * Invariant: only a document whose `issuer` is identical to the configured one is used (RFC 8414 §3.3). So the keys
 * of one issuer can't be taken for those of another. Whether its URLs are secure, the requests to them check. Whatever
 * strangers send, `keptMetadata` asks at most once a minute, or once in five seconds while that fails.
 */
import { z } from 'zod';
import { RuleRefusal } from '../../../base/errors.ts';
import type { Http } from '../../../oauth/base/http.ts';
import { metadataOfIssuer } from '../../../oauth/discovery/authorization-server.ts';

export interface IssuerMetadata {
  readonly jwksUri?: string;
  readonly introspectionEndpoint?: string;
  /** Milliseconds since 1970. */
  readonly freshUntil: number;
}

const schema = z.looseObject({
  jwks_uri: z.string().optional(),
  introspection_endpoint: z.string().optional(),
});

/** Throws issuer_mismatch, metadata_invalid, insecure_url, or Unreachable. */
export async function issuerMetadata(issuer: string, http: Http): Promise<IssuerMetadata> {
  const found = await metadataOfIssuer(issuer, http);
  if (found === undefined) throw invalid('is missing');
  const parsed = schema.safeParse(found.json);
  if (!parsed.success) throw invalid('has a wrong form');
  const { jwks_uri: jwksUri, introspection_endpoint: introspectionEndpoint } = parsed.data;
  return { jwksUri, introspectionEndpoint, freshUntil: found.freshUntil };
}

/** A minute, in ms, whatever the headers say: else each unknown token would fetch the document. */
const minAge = 60 * 1000;

/** 5 s, in ms: an issuer that is back is noticed soon. */
const pauseAfterFailure = 5000;

/**
 * The metadata of one issuer, kept. Requests that come at once share one fetch. Rejects as `issuerMetadata` does, and for
 * five seconds with the same.
 */
export function keptMetadata(issuer: string, http: Http): () => Promise<IssuerMetadata> {
  let last: { readonly answer: Promise<IssuerMetadata>; until: number } | undefined;
  return async () => {
    if (last !== undefined && last.until > http.now()) return last.answer;
    const kept = { answer: issuerMetadata(issuer, http), until: Number.POSITIVE_INFINITY };
    last = kept;
    try {
      const found = await kept.answer;
      kept.until = Math.max(found.freshUntil, http.now() + minAge);
      return found;
    } catch (error) {
      kept.until = http.now() + pauseAfterFailure;
      throw error;
    }
  };
}

/** Of what the issuer publishes: its metadata, or the key set that it names. */
export function invalid(problem: string, what = 'The metadata'): RuleRefusal {
  return new RuleRefusal('metadata_invalid', `${what} of the authorization server ${problem}.`, {
    rule: 'RFC 8414 §3',
    hint: 'Correct authorizationServers, or tell the operator of the authorization server.',
  });
}
