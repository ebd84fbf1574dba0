/**
 * The audience of an access token, if the token shows it.
 *
 * Invariant: a JWT for another resource is refused, unless the user waived that for the server. So no protected
 * server gets tokens for others through us. A token that names no resource is accepted like an opaque one, and is
 * reported as unbound.
 */
import { quoted, RuleRefusal, shellWord } from '../../base/errors.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { Http } from '../base/http.ts';
import { shownText } from '../base/oauth-error.ts';
import type { Exceptions } from '../base/exceptions.ts';
import { canonicalResource, resourceCovers } from '../base/resource.ts';

/** `other`: the token names another resource, and the user waived the refusal. */
export type Audience = 'resource' | 'unbound' | 'other';

export interface ExpectedAudience extends Pick<OAuthClient, 'server' | 'registration'> {
  readonly resource: string;
  readonly exceptions?: Exceptions | undefined;
  /** True if the response belongs to a sign-in. A refusal ends a sign-in. */
  readonly isSignIn?: boolean;
}

interface WithSecrets {
  /** No message may repeat them. */
  readonly secrets: readonly string[];
}

/** RFC 9068 §4, as canonical URIs. A parent path on the same origin is accepted. Throws audience_mismatch. */
export function checkAudience(
  aud: unknown,
  expected: ExpectedAudience & WithSecrets,
  policy: Pick<Http, 'allowInsecureLoopback'>,
): Audience {
  // RFC 7519 §4.1.3: a string or an array of strings. Anything else names no audience.
  const audiences = [aud].flat().filter((audience) => typeof audience === 'string');
  const names = (resource: string) => (audience: string) => sameResource(audience, resource, policy);
  if (audiences.some(names(expected.resource))) return 'resource';
  const { server, registration } = expected;
  // Servers that bind tokens to no resource put one of these into `aud`.
  const noResources = [server.issuer, server.metadata['userinfo_endpoint'], registration.clientId].filter(
    (one) => typeof one === 'string',
  );
  const others = audiences.filter(
    (audience) => isUri(audience) && !noResources.some((one) => names(one)(audience)),
  );
  // Metadata may name a parent of the endpoint as its resource, and so may a token.
  if (others.some((audience) => !/[?#]/.test(audience) && resourceCovers(audience, expected.resource)))
    return 'resource';
  if (others.length === 0) return 'unbound';
  // Breaks "a client MUST NOT send the MCP server any token other than one issued by that server's
  // authorization server" for it: the user waived that for this server.
  if (expected.exceptions?.otherAudience === true) return 'other';
  throw wrongAudience(others, expected);
}

function wrongAudience(
  others: readonly string[],
  { server, resource, exceptions, secrets, isSignIn = false }: ExpectedAudience & WithSecrets,
): RuleRefusal {
  const trusted = `If you trust both servers: keyturn exception add ${shellWord(resource)} audience`;
  // After the exception, the broker repeats a refresh by itself. A sign-in has to be started again.
  const waive = isSignIn ? `${trusted}, then: keyturn login URL` : trusted;
  const hint =
    exceptions?.noResource === true
      ? `The exception no-resource left out the parameter that says what the token is for. Try without it: keyturn exception remove ${shellWord(resource)} no-resource. ${waive}`
      : `The authorization server may ignore the resource parameter. Tell its operator. ${waive}`;
  return new RuleRefusal(
    'audience_mismatch',
    `${quoted(server.issuer)} issued a token for ${shown(others, secrets)}, not for ${quoted(resource)}.`,
    { rule: 'RFC 8707 §2, RFC 9068 §4', hint },
  );
}

function shown(audiences: readonly string[], secrets: readonly string[]): string {
  return audiences
    .map((audience) => shownText(audience, secrets))
    .join(', ')
    .slice(0, maxShown);
}

/** 400 characters: enough for two long audiences. */
const maxShown = 400;

/** True if the audience can be another MCP server. Names, numbers and `urn:` URIs are labels of the issuer. */
function isUri(audience: string): boolean {
  return ['http:', 'https:'].includes(URL.parse(audience)?.protocol ?? '');
}

function sameResource(
  audience: string,
  resource: string,
  policy: Pick<Http, 'allowInsecureLoopback'>,
): boolean {
  if (audience === resource) return true;
  try {
    return canonicalResource(audience, policy) === canonicalResource(resource, policy);
  } catch {
    // An audience without a canonical URI: only an equal string counts.
    return false;
  }
}
