/**
 * The first step with a protected server: finds out whether it wants authorization, and by which revision.
 *
 * Invariant: a server is treated as one of the earlier revision only if it asks for authorization and if every
 * location of protected resource metadata is absent or a web page. A malformed or unreachable document is an error.
 */
import { KeyturnError, quoted, RuleRefusal } from '../../base/errors.ts';
import { authorizationBaseUrl } from './earlier-revision.ts';
import type { Http } from '../base/http.ts';
import { UnclearAnswer } from './metadata-document.ts';
import { demandsAuthorization } from './probe.ts';
import type { Probe } from './probe.ts';
import { discoverProtectedResource } from './protected-resource.ts';
import type { ProtectedResource } from './protected-resource.ts';
import { canonicalResource } from '../base/resource.ts';

export type DiscoveredResource =
  | { readonly kind: 'protected'; readonly resource: ProtectedResource }
  | {
      readonly kind: 'earlierRevision';
      /** The endpoint's canonical URI: the value for the `resource` parameter. */
      readonly resource: string;
      /** The place of the authorization server; see `discoverEarlierRevision`. */
      readonly authorizationBaseUrl: string;
    };

/**
 * `probed`: the answer of the server at `endpoint` to a request without a token. Throws authorization_not_required, the
 * errors of `discoverProtectedResource`, and metadata_invalid if neither revision fits.
 */
export async function discoverResource(
  endpoint: string,
  probed: Probe,
  http: Http,
): Promise<DiscoveredResource> {
  const resource = await discoverProtectedResource(endpoint, probed.challenge, http).catch(
    (error: unknown) => {
      // A server that wants no token may answer anything where its metadata would be.
      if (error instanceof UnclearAnswer && isOpen(probed.status)) return undefined;
      throw error;
    },
  );
  if (resource !== undefined) return { kind: 'protected', resource };
  requireDemand(endpoint, probed.status);
  return {
    kind: 'earlierRevision',
    resource: canonicalResource(endpoint, http),
    authorizationBaseUrl: authorizationBaseUrl(endpoint),
  };
}

/** By these statuses a server says that it read the probe, whose `ping` begins no session, and wanted no token. */
const readStatuses: readonly number[] = [400, 406, 409, 415, 422];

const isOpen = (status: number): boolean => (status >= 200 && status < 300) || readStatuses.includes(status);

/** Spec, Errors 1: a server that wants authorization MUST answer 401; in the earlier revision 403 counts too. */
function requireDemand(endpoint: string, status: number): void {
  if (demandsAuthorization(status)) return;
  const shown = quoted(endpoint.replace(/[?#].*$/s, ''));
  if (isOpen(status)) {
    throw new KeyturnError(
      'authorization_not_required',
      `${shown} answers without a token (status ${status}) and publishes no metadata about authorization.`,
      {
        rule: 'A server that wants a sign-in answers 401 to a request without a token',
        hint: 'Use the server without a token.',
      },
    );
  }
  throw new RuleRefusal(
    'metadata_invalid',
    `${shown} asks for no authorization: it answered with status ${status} and publishes no metadata.`,
    {
      rule: 'A server that wants a sign-in answers 401 to a request without a token (RFC 9728 §5.1)',
      hint: 'Check the URL: it has to be the endpoint of the protected server.',
    },
  );
}
