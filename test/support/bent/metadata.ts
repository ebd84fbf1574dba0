/** The metadata of a bent server (RFC 8414 and OpenID Connect Discovery): what the server does at this moment. */
import { idJagType } from './assertion-grants.ts';
import { type Json, keyTypes } from './jwt.ts';
import type { MetadataPlace, Parts } from './parties.ts';
import { knownGrantTypes } from './token-endpoint.ts';

const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag';

/** RFC 8414 §3.1: a slash at the end of the issuer is left out. Without a path two of the places are one. */
export function metadataPaths(issuerPath: string): Readonly<Record<MetadataPlace, string>> {
  const path = issuerPath.replace(/\/$/, '');
  return {
    oauth: `/.well-known/oauth-authorization-server${path}`,
    oidc: `/.well-known/openid-configuration${path}`,
    oidcAppended: `${path}/.well-known/openid-configuration`,
  };
}

export function metadataDocument({ server, issuer, settings }: Parts): Json {
  const at = (path: string): string => `${server.base}${path}`;
  const { registration, deviceAuthorization, scopesSupported, identityProviders } = settings;
  const grantTypes = knownGrantTypes.filter((type) => deviceAuthorization || !type.endsWith(':device_code'));
  return {
    issuer,
    authorization_endpoint: at('/authorize'),
    token_endpoint: at('/token'),
    revocation_endpoint: at('/revoke'),
    jwks_uri: at('/jwks'),
    ...(registration === 'absent' ? {} : { registration_endpoint: at('/register') }),
    ...(deviceAuthorization ? { device_authorization_endpoint: at('/device_authorization') } : {}),
    ...(settings.dpop ? { dpop_signing_alg_values_supported: ['ES256'] } : {}),
    ...(scopesSupported === undefined ? {} : { scopes_supported: scopesSupported }),
    response_types_supported: ['code'],
    grant_types_supported: grantTypes,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: settings.authMethods,
    token_endpoint_auth_signing_alg_values_supported: Object.keys(keyTypes),
    authorization_response_iss_parameter_supported: settings.issInResponse,
    client_id_metadata_document_supported: settings.clientIdMetadataDocuments,
    ...(identityProviders.length > 0 ? { authorization_grant_profiles_supported: [idJagProfile] } : {}),
    identity_chaining_requested_token_types_supported: [idJagType],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}
