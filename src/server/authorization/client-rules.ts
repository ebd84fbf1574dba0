/**
 * What oidc-provider is told of clients: those that the operator entered, how one shows who it is, and what a
 * registration or a metadata document may say.
 *
 * Invariant: the client credentials grant is for entered clients only. A client's keys here are public ones. Each rule
 * counts however the client became known.
 */
import { hasVisible } from '../../base/text/visible.ts';
import type { ClientMetadata, Configuration } from 'oidc-provider';
import { z } from 'zod';
import { hasPrivatePart } from '../resource/base/public-key.ts';
import type { OidcProvider } from './base/peer.ts';
import type { ClientOptions, Settings } from './options.ts';
import { isOriginOf } from './clients/browser-access.ts';
import { readDocument, type GuardedFetch } from './clients/client-document.ts';
import { redirectProblem } from './clients/redirect.ts';
import { jwtBearer, maxClientName } from './clients/registration-request.ts';

export interface ClientRuleParts {
  readonly settings: Settings;
  readonly fetch: GuardedFetch;
  readonly errors: OidcProvider['errors'];
}

/** For clients that the operator didn't enter. The grant by an identity assertion is offered where it is accepted. */
const clientGrants = ['authorization_code', 'refresh_token'];

/** Who a client is, and how it shows that. */
export function clientRules(parts: ClientRuleParts): Configuration {
  const { settings, fetch, errors } = parts;
  return {
    clients: settings.clients.map((client) => enteredClient(client, settings.assertionProviders.length > 0)),
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientDefaults: {
      application_type: 'native',
      grant_types: [...clientGrants],
      id_token_signed_response_alg: 'ES256',
    },
    assertJwtClientAuthClaimsAndHeader: async (_ctx, { aud }) => {
      // RFC 7523 §3 lets an assertion name several servers. Each of them could use it here.
      const named = Array.isArray(aud) ? aud : [aud];
      if (named.length !== 1) throw new errors.InvalidClientAuth('the assertion must name this server only');
    },
    // Runs for every client, however it became known. The property itself is never there.
    extraClientMetadata: {
      properties: ['keyturn_check'],
      validator: (_ctx, _key, _value, metadata) => checkClient(metadata, parts),
    },
    clientBasedCORS: (_ctx, origin, client) => isOriginOf(origin, client.redirectUris ?? []),
    fetch: async (input, init) => fetchOfClient(fetch, input, init),
  };
}

/** What we look at, before the provider has checked anything. It refuses what has another form. */
const looked = z.object({
  client_name: z.string().optional().catch(undefined),
  grant_types: z.array(z.unknown()).catch([]),
  redirect_uris: z.array(z.string()).catch([]),
  jwks: z
    .object({ keys: z.array(z.unknown()) })
    .optional()
    .catch(undefined),
});

function checkClient(metadata: ClientMetadata, { settings, errors }: ClientRuleParts): void {
  const { client_id: clientId } = metadata;
  const { client_name: name, grant_types: grants, redirect_uris: redirects, jwks } = looked.parse(metadata);
  // The page shows the host of such an identifier, which it knows by this beginning.
  if (/^https:/i.test(clientId) && !clientId.startsWith('https://'))
    throw new errors.InvalidClientMetadata('client_id must begin with https:// in lower case');
  if (name !== undefined && name.length > maxClientName)
    throw new errors.InvalidClientMetadata(`client_name must have at most ${maxClientName} characters`);
  if (name !== undefined && !hasVisible(name))
    throw new errors.InvalidClientMetadata('client_name must have a visible character');
  // RFC 7591 §2 lets a server leave it out. The user consents to each scope, and a step-up must stay possible.
  delete metadata.scope;
  const isEntered = settings.clients.some((client) => client.clientId === clientId);
  if (!isEntered && grants.length > 0) {
    const offered = [...clientGrants, ...(settings.assertionProviders.length > 0 ? [jwtBearer] : [])];
    // RFC 7591 §2. A client may list what it uses at other servers.
    metadata.grant_types = offered.filter((grant) => grants.includes(grant));
    if (metadata.grant_types.length === 0)
      throw new errors.InvalidClientMetadata(`grant_types must be of: ${offered.join(', ')}`);
  }
  for (const uri of redirects) {
    const problem = redirectProblem(uri);
    if (problem !== undefined) throw new errors.InvalidRedirectUri(problem);
  }
  // The provider checks this only for keys that it knows, and would keep the others.
  if (jwks?.keys.some((key) => typeof key === 'object' && key !== null && hasPrivatePart(key)))
    throw new errors.InvalidClientMetadata('jwks must hold public keys only');
}

function enteredClient(
  { clientId, name, redirectUris = [], clientSecret, keys, isMachine }: ClientOptions,
  acceptsAssertions: boolean,
): ClientMetadata {
  const isInteractive = redirectUris.length > 0;
  return {
    client_id: clientId,
    // A native client's https redirects must not name this machine; a program with its certificate is a web client.
    ...(redirectUris.every((uri) => uri.startsWith('https:')) ? { application_type: 'web' as const } : {}),
    ...(name === undefined ? {} : { client_name: name }),
    ...(clientSecret === undefined ? {} : { client_secret: clientSecret }),
    ...(keys === undefined
      ? {}
      : { jwks: { keys: [...keys] as NonNullable<ClientMetadata['jwks']>['keys'] } }),
    token_endpoint_auth_method:
      keys !== undefined ? 'private_key_jwt' : clientSecret === undefined ? 'none' : 'client_secret_basic',
    grant_types: [
      ...(isInteractive ? ['authorization_code', 'refresh_token'] : []),
      ...(isMachine ? ['client_credentials'] : []),
      ...(acceptsAssertions ? [jwtBearer] : []),
    ],
    response_types: isInteractive ? ['code'] : [],
    redirect_uris: [...redirectUris],
  };
}

/** Everything that the provider fetches was named by a client. */
async function fetchOfClient(
  fetch: GuardedFetch,
  input: URL | string | Request,
  init: RequestInit | undefined,
): Promise<Response> {
  const target = input instanceof Request ? input.url : String(input);
  const answer = await fetch.fetch(target, {
    ...(init?.method === undefined ? {} : { method: init.method }),
    headers: new Headers(init?.headers),
    ...(init?.signal ? { signal: init.signal } : {}),
  });
  if (answer.status !== 200) return answer;
  const text = await answer.text();
  // Key sets come this way too, without this header.
  const isDocument = new Headers(init?.headers).get('accept') === 'application/json';
  if (!isDocument) return new Response(text, { status: 200, headers: answer.headers });
  const document = readDocument(text, answer.headers.get('content-type'));
  return new Response(JSON.stringify(document), { status: 200, headers: answer.headers });
}
