/** Dynamic registration (RFC 7591) and revocation (RFC 7009). A client is what its answer said, before any bend. */
import { z } from 'zod';
import type { Answer, RecordedRequest } from './server.ts';
import { authenticate } from './client-authentication.ts';
import type { Json } from './jwt.ts';
import { answerJson, authMethods, type BentClient, type Parts, Refusal, once, required } from './parties.ts';
import { type BentGrant, randomValue, validToken } from './token-store.ts';

const registrationRequest = z.looseObject({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).min(1),
  grant_types: z.array(z.string()).default(['authorization_code']),
  scope: z.string().optional(),
  response_types: z.array(z.string()).default(['code']),
  // RFC 7591 §2: what is meant by a client that says nothing.
  token_endpoint_auth_method: z.enum(authMethods).default('client_secret_basic'),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())).min(1) }).optional(),
});

export type AskedRegistration = z.infer<typeof registrationRequest>;

export function answerRegistration(parts: Parts, request: RecordedRequest): Answer | undefined {
  const { bend, settings } = parts;
  if (settings.registration === 'absent') return undefined;
  const hooks = { answer: bend.registrationAnswer, error: bend.registrationError, status: 201 };
  return answerJson(parts, request, hooks, () => {
    const result = registrationRequest.safeParse(request.json);
    if (!result.success) throw new Refusal('invalid_client_metadata', 'the request is malformed');
    return register(parts, result.data);
  });
}

function register(parts: Parts, asked: AskedRegistration): Json {
  const { settings, clients, counts } = parts;
  const error = settings.refusesRegistration(asked);
  if (error !== undefined) throw new Refusal(error, 'such a registration is not accepted');
  const authMethod = settings.registeredAuthMethod ?? asked.token_endpoint_auth_method;
  if (!settings.authMethods.includes(authMethod)) {
    throw new Refusal('invalid_client_metadata', `${authMethod} is not offered`);
  }
  const jwk = asked.jwks?.keys[0];
  if (authMethod === 'private_key_jwt' && jwk === undefined) {
    throw new Refusal('invalid_client_metadata', 'private_key_jwt needs jwks');
  }
  const hasSecret = authMethod === 'client_secret_basic' || authMethod === 'client_secret_post';
  const client: BentClient = {
    // Never a dash first: a command line writes such an id in another way.
    clientId: `c${randomValue().slice(1)}`,
    authMethod,
    redirectUris: asked.redirect_uris,
    grantTypes: asked.grant_types,
    scopes: asked.scope?.split(' ') ?? settings.defaultScope,
    ...(hasSecret ? { secret: settings.newSecret() } : {}),
    ...(jwk ? { jwk } : {}),
    ...(asked.client_name === undefined ? {} : { name: asked.client_name }),
  };
  clients.set(client.clientId, client);
  counts.registrations += 1;
  return {
    ...asked,
    client_id: client.clientId,
    client_id_issued_at: Math.floor(settings.now() / 1000),
    token_endpoint_auth_method: authMethod,
    // RFC 7591 §3.2.1: 0 means that it never ends.
    ...(client.secret === undefined ? {} : { client_secret: client.secret, client_secret_expires_at: 0 }),
  };
}

/** RFC 7009 §2.2: an unknown token is no error. A refresh token takes its whole grant along. */
export function answerRevocation(parts: Parts, request: RecordedRequest): Answer {
  return answerJson(parts, request, { answer: parts.bend.revocationAnswer }, () => {
    once(request.form);
    const client = authenticate(parts, request);
    const token = required(request.form, 'token');
    const access = parts.store.accessTokens.get(token);
    const grant = parts.store.refreshTokens.get(token)?.grant ?? access?.grant;
    if (grant?.clientId !== client.clientId) return {};
    parts.counts.revocations += 1;
    if (access) parts.store.accessTokens.delete(token);
    else for (const one of endingWith(parts, grant)) one.ended = true;
    return {};
  });
}

function endingWith({ store, settings }: Parts, grant: BentGrant): BentGrant[] {
  const all = settings.sharesGrants ? [...store.refreshTokens.values()].map((one) => one.grant) : [grant];
  return all.filter((one) => one.clientId === grant.clientId && one.subject === grant.subject);
}

/** RFC 7662, for the MCP server. */
export function answerIntrospection(parts: Parts, request: RecordedRequest): Answer {
  return answerJson(parts, request, {}, () => {
    authenticate(parts, request);
    const token = validToken(parts, required(request.form, 'token'));
    if (token === undefined) return { active: false };
    const { clientId, subject, scopes, audience, expiresAt, grant } = token;
    return {
      active: true,
      iss: parts.issuer,
      sub: subject,
      aud: audience,
      client_id: clientId,
      scope: scopes.join(' '),
      ...(expiresAt === undefined ? {} : { exp: Math.floor(expiresAt / 1000) }),
      ...(grant.jkt === undefined
        ? { token_type: 'Bearer' }
        : { token_type: 'DPoP', cnf: { jkt: grant.jkt } }),
    };
  });
}
