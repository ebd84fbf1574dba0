/** A resource behind `@keyturn/server`, and a token that passes there. The issuer is in this process. */
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { jwt, protectedServer } from '../src/server/index.ts';

export const issuer = 'http://127.0.0.1:1';

export async function guarded(resource: string, options: Parameters<typeof jwt>[0] = {}) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' };
  const guard = protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt(options),
    operations: { tools: { echo: ['echo'] } },
    fetch: async (input) =>
      Response.json(
        new Request(input).url.endsWith('/keys') ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` },
      ),
  });
  const token = await new SignJWT({ client_id: 'bench', jti: 't', scope: 'echo' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })
    .setIssuer(issuer)
    .setSubject('bench')
    .setAudience(resource)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
  return { guard, token, jwk };
}
