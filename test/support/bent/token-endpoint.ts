/**
 * The token endpoint of a bent authorization server: client, grant type, then the grant's own rules.
 *
 * Invariant: a code is redeemed once, and a rotated refresh token that comes again ends its grant
 * with everything issued from it (OAuth 2.1 §4.1.3, §4.3.1).
 */
import { createHash, type JsonWebKey } from 'node:crypto';
import type { Answer, RecordedRequest } from './server.ts';
import { exchangeToken, redeemAssertion } from './assertion-grants.ts';
import { authenticate } from './client-authentication.ts';
import { pollDevice } from './device.ts';
import { answerJson, type BentClient, type Parts, Refusal, once, required, scopesOf } from './parties.ts';
import { decodeJwt, type Json, verifyJwt } from './jwt.ts';
import { isSpent, issue, issueWithRefresh, newRefreshToken, requestedResources } from './token-store.ts';

type GrantHandler = (parts: Parts, client: BentClient, request: RecordedRequest) => Json;

const handlers: Readonly<Record<string, GrantHandler>> = {
  authorization_code: redeemCode,
  refresh_token: refresh,
  client_credentials: ownToken,
  'urn:ietf:params:oauth:grant-type:device_code': pollDevice,
  'urn:ietf:params:oauth:grant-type:token-exchange': exchangeToken,
  'urn:ietf:params:oauth:grant-type:jwt-bearer': redeemAssertion,
};

export const knownGrantTypes: readonly string[] = Object.keys(handlers);

export async function answerTokenRequest(parts: Parts, request: RecordedRequest): Promise<Answer> {
  parts.counts.tokenRequests += 1;
  const verdict = (await parts.gate?.()) ?? 'pass';
  if (verdict === 'pass') return served(parts, request);
  if (typeof verdict === 'object' && 'status' in verdict) {
    const { status, retryAfter } = verdict;
    return { status, headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) } };
  }
  const answer = await served(parts, request);
  if (verdict === 'loseAnswer') return 'destroy';
  await verdict.answerAfter;
  return answer;
}

async function served(parts: Parts, request: RecordedRequest): Promise<Answer> {
  const instead = await parts.bend.tokenRequest?.(request);
  if (instead !== undefined) return instead;
  const { tokenAnswer: answer, tokenError: error } = parts.bend;
  return answerJson(parts, request, { answer, error }, () => {
    once(request.form);
    const client = authenticate(parts, request);
    const grantType = required(request.form, 'grant_type');
    const handler = handlers[grantType];
    if (handler === undefined) throw new Refusal('unsupported_grant_type', `${grantType} is not offered`);
    // RFC 7591 §2: a client uses the grants that it registered, and no others.
    if (client.grantTypes?.includes(grantType) === false)
      throw new Refusal('unauthorized_client', `the client did not register ${grantType}`);
    return handler(parts, client, request);
  });
}

/** RFC 7636 §4.1. */
const verifierForm = /^[\w.~-]{43,128}$/;

function redeemCode(parts: Parts, client: BentClient, request: RecordedRequest): Json {
  const { form } = request;
  const code = parts.store.codes.get(required(form, 'code'));
  if (code === undefined || code.grant.clientId !== client.clientId)
    throw invalidGrant('the code is unknown');
  if (code.used) {
    // OAuth 2.1 §4.1.3: a code that comes twice may have been stolen.
    code.grant.ended = true;
    parts.counts.codeReuses += 1;
    throw invalidGrant('the code was used before');
  }
  if (form.get('redirect_uri') !== code.redirectUri) throw invalidGrant('redirect_uri is another one');
  const verifier = required(form, 'code_verifier');
  if (!verifierForm.test(verifier)) throw invalidGrant('code_verifier has another form');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  if (challenge !== code.challenge) throw invalidGrant('code_verifier does not fit the challenge');
  const resources = requestedResources(parts, code.grant, form);
  const jkt = provenKey(parts, request);
  if (jkt !== undefined) code.grant.jkt = jkt;
  code.used = true;
  parts.counts.codesRedeemed += 1;
  return issueWithRefresh(parts, code.grant, resources);
}

function refresh(parts: Parts, client: BentClient, request: RecordedRequest): Json {
  const { form } = request;
  const { store, counts, settings } = parts;
  const presented = store.refreshTokens.get(required(form, 'refresh_token'));
  const grant = presented?.grant;
  if (presented === undefined || grant?.clientId !== client.clientId)
    throw invalidGrant('the refresh token is unknown');
  if (isSpent(parts, presented)) {
    grant.ended = true;
    counts.refreshReuses += 1;
  }
  if (grant.ended) throw invalidGrant('the grant has ended');
  // RFC 9449 §5: the refresh token of a public client is bound to the key.
  if (provenKey(parts, request) !== grant.jkt) throw invalidGrant('the proof is by another key');
  const scopes = scopesOf(form) ?? presented.scopes;
  // RFC 6749 §6: a refresh narrows, it never widens.
  if (scopes.some((scope) => !presented.scopes.includes(scope))) {
    throw new Refusal('invalid_scope', 'the scope goes beyond the grant');
  }
  const resources = requestedResources(parts, grant, form);
  counts.refreshes += 1;
  presented.usedAt ??= settings.now();
  if (settings.narrowing === 'forGood') presented.scopes = scopes;
  if (settings.narrowing === 'endsOthers')
    for (const one of store.accessTokens.values())
      if (one.grant === grant) store.accessTokens.delete(one.token);
  return issue(parts, grant, {
    scopes,
    resources,
    refreshToken: newRefreshToken(parts, grant, presented.scopes),
  });
}

function ownToken(parts: Parts, client: BentClient, request: RecordedRequest): Json {
  if (client.authMethod === 'none')
    throw new Refusal('unauthorized_client', 'a public client has no credentials');
  const resources = request.form.getAll('resource');
  if (parts.settings.resourceRequired && resources.length === 0)
    throw new Refusal('invalid_target', 'resource is missing');
  const asked = scopesOf(request.form) ?? parts.settings.defaultScope;
  const scopes = parts.bend.grantedScopes?.(asked, request) ?? asked;
  parts.counts.clientCredentials += 1;
  // RFC 6749 §4.4.3: no refresh token.
  return issue(
    parts,
    { clientId: client.clientId, subject: client.clientId, scopes, resources, ended: false },
    { scopes, resources },
  );
}

function invalidGrant(description: string): Refusal {
  return new Refusal('invalid_grant', description);
}

/** The thumbprint of the key (RFC 7638) whose proof (RFC 9449) a request carries; undefined without a proof, or at a server that takes none. */
function provenKey(parts: Parts, { headers, method, url }: RecordedRequest): string | undefined {
  const proof = headers['dpop'];
  if (!parts.settings.dpop || typeof proof !== 'string') return undefined;
  const jwk = decodeJwt(proof).header['jwk'] as JsonWebKey;
  const claims = verifyJwt(proof, jwk)?.claims;
  if (claims?.['htm'] !== method || claims['htu'] !== url.origin + url.pathname)
    throw new Refusal('invalid_dpop_proof', 'the proof is for another request, or not signed by its key');
  if (claims['nonce'] !== parts.nonce)
    throw new Refusal('use_dpop_nonce', 'the nonce is missing', 400, { 'dpop-nonce': parts.nonce });
  const { crv, kty, x, y } = jwk;
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}
