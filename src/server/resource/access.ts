/**
 * What a handler gets of the token that came with a request.
 *
 * Invariant: the token itself is not in it, nor in the headers of the request that the handler gets. So a handler
 * can't pass it on (MCP, Access Token Privilege Restriction), not even by accident. Its digest is kept beside the
 * object, for `upstreamFetch`, and ends with it.
 */
import type { VerifiedToken } from './tokens/token.ts';

/** Claims of the token, and the parsed body where this server read it. */
export interface Access extends VerifiedToken {
  /** The body as parsed here: a message where `operations` are given, `URLSearchParams` for a form; else undefined. */
  readonly body: unknown;
  /** For the protocol's SDK, which takes it as `authInfo`. Its `token` is empty. */
  readonly authInfo: SdkAuthInfo;
}

/** The shape that both major versions of the SDK take. Its `clientId` is empty if the token names none. */
export interface SdkAuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  expiresAt: number;
  resource: URL;
  resourceMetadataUrl: string;
  extra: Record<string, unknown>;
}

const digests = new WeakMap<Access, string>();

interface AccessParts {
  readonly token: VerifiedToken;
  readonly tokenDigest: string;
  readonly body: unknown;
  readonly resource: string;
  readonly metadataUrl: string;
}

export function makeAccess({ token, tokenDigest, body, resource, metadataUrl }: AccessParts): Access {
  const access = Object.freeze({
    ...token,
    body,
    authInfo: {
      token: '',
      clientId: token.clientId ?? '',
      scopes: [...token.scopes],
      expiresAt: token.expiresAt,
      resource: new URL(resource),
      resourceMetadataUrl: metadataUrl,
      extra: { sub: token.subject, iss: token.issuer, claims: token.claims },
    },
  });
  digests.set(access, tokenDigest);
  return access;
}

/** Of the token that came with the request. Undefined: no protected server made this object. */
export function digestOf(access: Access): string | undefined {
  return digests.get(access);
}

/** Headers that carry proof of the caller's rights; no handler gets them. */
export const withheldHeaders: readonly string[] = ['authorization', 'dpop'];
