/**
 * Enterprise-managed authorization: an ID token for an ID-JAG (RFC 8693), and an ID-JAG or a workload's JWT for an
 * access token (RFC 7523).
 *
 * Invariant: an ID token is exchanged only for its own client. An ID-JAG is taken once, from a named identity provider,
 * for this issuer and client; a platform's JWT for this issuer while it is valid.
 */
import { randomUUID } from 'node:crypto';
import type { RecordedRequest } from './server.ts';
import { type Json, verifyJwt } from './jwt.ts';
import { type BentClient, type Parts, Refusal, required, scopesOf } from './parties.ts';
import { issue } from './token-store.ts';

export const idJagType = 'urn:ietf:params:oauth:token-type:id-jag';
const idTokenType = 'urn:ietf:params:oauth:token-type:id_token';
const idJagHeader = 'oauth-id-jag+jwt';

/** Seconds: it is redeemed at once. */
const idJagLifetime = 300;

export function exchangeToken(parts: Parts, client: BentClient, request: RecordedRequest): Json {
  const wanted = request.form.get('requested_token_type');
  if (wanted === idJagType) return issueIdJag(parts, client, request);
  throw new Refusal('invalid_request', 'only ID-JAGs are issued');
}

/** At the identity provider. */
function issueIdJag(parts: Parts, client: BentClient, { form }: RecordedRequest): Json {
  if (form.get('subject_token_type') !== idTokenType)
    throw new Refusal('invalid_request', 'only ID tokens are taken');
  const claims = verifyJwt(required(form, 'subject_token'), parts.key.jwk)?.claims;
  const seconds = Math.floor(parts.settings.now() / 1000);
  if (
    claims?.['iss'] !== parts.issuer ||
    claims['aud'] !== client.clientId ||
    Number(claims['exp']) <= seconds
  ) {
    throw new Refusal('invalid_request', 'the ID token is not one of this client, or has expired');
  }
  const scope = scopesOf(form)?.join(' ');
  const resource = form.get('resource');
  const plain: Json = {
    iss: parts.issuer,
    sub: claims['sub'],
    aud: required(form, 'audience'),
    client_id: client.clientIdElsewhere ?? client.clientId,
    jti: randomUUID(),
    iat: seconds,
    exp: seconds + idJagLifetime,
    ...(resource === null ? {} : { resource }),
    ...(scope === undefined ? {} : { scope }),
  };
  parts.counts.tokenExchanges += 1;
  return {
    issued_token_type: idJagType,
    access_token: parts.key.sign({ typ: idJagHeader }, parts.bend.idJagClaims?.(plain) ?? plain),
    // RFC 8693 §2.2.1: what isn't an access token has the type N_A.
    token_type: 'N_A',
    expires_in: idJagLifetime,
    ...(scope === undefined ? {} : { scope }),
  };
}

/** At the authorization server of the resource. */
export function redeemAssertion(parts: Parts, client: BentClient, request: RecordedRequest): Json {
  const assertion = required(request.form, 'assertion');
  const workload = workloadClaims(parts, assertion);
  if (workload) return redeemWorkload(parts, client, request, workload);
  const claims = trustedClaims(parts, assertion);
  const { settings, store } = parts;
  const wrong = [
    claims['aud'] !== parts.issuer && 'aud',
    claims['client_id'] !== client.clientId && 'client_id',
    Number(claims['exp']) * 1000 <= settings.now() && 'exp',
    store.assertions.has(String(claims['jti'])) && 'jti',
    typeof claims['sub'] !== 'string' && 'sub',
  ].filter((name) => name !== false);
  if (wrong.length > 0) throw new Refusal('invalid_grant', `the ID-JAG is wrong in ${wrong.join(', ')}`);
  store.assertions.add(String(claims['jti']));
  const resources = [claims['resource']].flat().filter((one) => typeof one === 'string');
  const allowed = typeof claims['scope'] === 'string' ? claims['scope'].split(' ') : settings.defaultScope;
  const asked = scopesOf(request.form) ?? allowed;
  if (asked.some((scope) => !allowed.includes(scope)))
    throw new Refusal('invalid_scope', 'the scope goes beyond the ID-JAG');
  const scopes = parts.bend.grantedScopes?.(asked, request) ?? asked;
  parts.counts.jwtBearers += 1;
  const grant = {
    clientId: client.clientId,
    subject: String(claims['sub']),
    scopes,
    resources,
    ended: false,
  };
  return issue(parts, grant, { scopes, resources });
}

function trustedClaims({ settings }: Parts, assertion: string): Json {
  for (const { issuer, jwk } of settings.identityProviders) {
    const token = verifyJwt(assertion, jwk);
    if (token?.header['typ'] === idJagHeader && token.claims['iss'] === issuer) return token.claims;
  }
  throw new Refusal('invalid_grant', 'the assertion is not an ID-JAG of a trusted identity provider');
}

function workloadClaims({ settings }: Parts, assertion: string): Json | undefined {
  return settings.platforms
    .map(({ issuer, jwk }) => ({ issuer, claims: verifyJwt(assertion, jwk)?.claims }))
    .find(({ issuer, claims }) => claims?.['iss'] === issuer)?.claims;
}

function redeemWorkload(parts: Parts, client: BentClient, request: RecordedRequest, claims: Json): Json {
  const { settings, bend, counts } = parts;
  if (claims['aud'] !== parts.issuer || Number(claims['exp']) * 1000 <= settings.now())
    throw new Refusal('invalid_grant', 'the assertion is for another server, or has expired');
  const asked = scopesOf(request.form) ?? settings.defaultScope;
  const scopes = bend.grantedScopes?.(asked, request) ?? asked;
  counts.jwtBearers += 1;
  const resources = request.form.getAll('resource');
  const subject = String(claims['sub']);
  return issue(
    parts,
    { clientId: client.clientId, subject, scopes, resources, ended: false },
    { scopes, resources },
  );
}
