/**
 * Which issuers' answers can be mixed up (RFC 9700 §4.4): a hostile authorization server can redirect the browser to an
 * honest one, whose answer then arrives while the hostile one's is expected.
 *
 * Invariant: an answer that names no issuer (RFC 9207) is valid only if its redirect URI belongs to one issuer of this
 * home. Paths tell issuers apart. Ports don't, because servers let them vary (RFC 8252 §7.3).
 */
import { KeyturnError, quoted, shellWord } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { AmbiguousIssuer } from '../../oauth/grants/authorization.ts';
import { freshRedirect } from '../loopback/loopback.ts';
import type { RegistrationRecord } from '../records/registrations.ts';

function pathOf(redirectUri: string): string {
  return URL.parse(redirectUri)?.pathname ?? redirectUri;
}

/** Whether the issuer of `record` may send a browser to this path. Some servers accept paths below a registered path. */
function mayAnswerAt(path: string, { registration, grantType, isRejected }: RegistrationRecord): boolean {
  if (grantType !== undefined || isRejected === true) return false;
  const own = pathOf(registration.redirectUri);
  return path === own || (own !== '/' && path.startsWith(`${own}/`));
}

/** The issuer of another client whose answer could arrive at this redirect URI, and what the user can do about it. */
export function ambiguityOf(
  records: readonly RegistrationRecord[],
  { registration }: RegistrationRecord,
): AmbiguousIssuer | undefined {
  const { issuer, redirectUri } = registration;
  const other = records.find(
    (record) => record.registration.issuer !== issuer && mayAnswerAt(pathOf(redirectUri), record),
  );
  return other && { issuer: other.registration.issuer, hint: wayOut(registration) };
}

function wayOut({ source, issuer, clientId }: RegistrationRecord['registration']): string {
  if (source !== 'preregistered') {
    return `Register a client at the authorization server by hand, then: keyturn oauth-client add ${shellWord(issuer)} --client-id ID`;
  }
  const redirectUri = freshRedirect();
  return (
    `Give the client ${quoted(clientId)} the redirect URI ${redirectUri} at the authorization server, then enter it again ` +
    `as before, with that URI: keyturn oauth-client add ${shellWord(issuer)} --client-id ID --redirect-uri ${shellWord(redirectUri)}`
  );
}

/** Another issuer that knows us by the document, where only `iss` could tell their answers apart and isn't promised. */
export function documentElsewhere(
  records: readonly RegistrationRecord[],
  { issuer, issParameterSupported }: AuthorizationServer,
): string | undefined {
  if (issParameterSupported) return undefined;
  const other = records.find(
    ({ registration }) => registration.source === 'metadata_document' && registration.issuer !== issuer,
  );
  return other?.registration.issuer;
}

/** The server accepts only the document, and another issuer knows us by it. */
export function documentShared({ issuer }: AuthorizationServer, other: string): KeyturnError {
  return new KeyturnError(
    'registration_required',
    `${quoted(issuer)} doesn't say that its answers name it, and ${quoted(other)} knows Keyturn by the same metadata document.`,
    {
      rule: 'RFC 9700 §4.4.2: an answer must show which issuer it is from',
      hint: `Register a client there by hand, then: keyturn oauth-client add ${shellWord(issuer)} --client-id ID`,
    },
  );
}
