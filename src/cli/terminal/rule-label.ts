/**
 * What a rule of a standard asks for, in plain words, and where to read on: a section's number says nothing to a
 * user.
 *
 * Invariant: every standard of which a refusal names only the section has a label here
 * (test/cli/terminal/rule-label.test.ts).
 */

/** By the first reference of a rule. Longer ones are before those that they begin with. */
const labels: Readonly<Record<string, string>> = {
  'OAuth 2.1 §1.5': 'addresses of authorization servers are https',
  'OAuth 2.1 §2.3.1': 'a redirect URI is https, or http on this machine',
  'OAuth 2.1 §4.1.1': 'an authorization server must support PKCE with S256',
  'OAuth 2.1 §4.1.2 (state)': 'an answer must carry the state of its request',
  'OAuth 2.1 §4.1.2.1': 'the authorization server says why it refuses a sign-in',
  'OAuth 2.1 §4.1.2': 'an answer to a sign-in carries a code',
  'OpenID Connect Core §3.1.2.6': 'the authorization server says that it needs the user',
  'OpenID Connect Core §3.1.3.7 (nonce)': 'an ID token must carry the nonce of its request',
  'OpenID Connect Core §3.1.3.7': 'an ID token must be valid and meant for this client',
  'RFC 6749 §3.1': 'the form of an authorization endpoint',
  'RFC 6749 §3.3': 'the characters of a scope',
  'RFC 6749 §4.4': 'a client that acts for itself proves who it is',
  'RFC 6749 §5.1': 'the form of a token answer',
  'RFC 6749 §5.2': 'the token endpoint says why it refuses',
  'RFC 6749 §6': 'a refresh token is for the client and the scopes that it was issued to',
  'RFC 6749 §7.1': 'a client uses only token types that it knows',
  'RFC 6749 §10.12': 'an answer must belong to the sign-in that waits for it',
  'RFC 6750 §5.3': 'a bearer token goes over HTTPS only',
  'RFC 7009 §2.1': 'only the client that a token was issued to may revoke it',
  'RFC 7523 §3': 'what an assertion must say',
  'RFC 7591 §3.2': 'the answer to a client registration',
  'RFC 8252 §7.3': 'the redirect URI of a program on this machine',
  'RFC 8414 §2': 'what the metadata of an authorization server must say',
  'RFC 8414 §3.2': 'the form of metadata',
  'RFC 8414 §3.3': 'metadata must name the issuer that was asked for',
  'RFC 8414 §3': 'where an authorization server publishes its metadata',
  'RFC 8628 §3.2': 'what the answer to a device sign-in must say',
  'RFC 8628 §3.5': 'how a sign-in on another device ends',
  'RFC 8628 §4': 'the authorization server must offer sign-ins on another device',
  'RFC 8693 §2.2.1': 'an exchanged token is of the kind that was asked for',
  'RFC 8707 §2': 'an MCP server is named by an absolute URL, and tokens are for it alone',
  'RFC 9068 §4': 'a token is only for the servers that it names',
  'RFC 9110 §9.3.1': 'a GET request has no body',
  'RFC 9110 §5.3': 'a header that holds one value stands in a request once',
  'RFC 9207 §2.4': 'an answer must name the issuer that was asked',
  'RFC 9449 §5': 'after a proof of a key the token is bound to that key',
  'RFC 9449 §6.1': 'a bound token names the key of the client that asked for it',
  'RFC 9449 §7.1': 'only a token that is bound to a DPoP key comes with a proof',
  'RFC 9700 §4.4.2': 'an answer must show which issuer it is from',
  'RFC 9728 §2': 'what the metadata of an MCP server must say',
  'RFC 9728 §3.3': 'metadata must name the MCP server that was asked',
  'RFC 9728 §3': 'where an MCP server publishes its metadata',
  'RFC 9728 §5.1': 'how an MCP server says where its metadata is',
  'draft-ietf-oauth-client-id-metadata-document §3': 'the URL of a client ID metadata document',
  'JSON-RPC 2.0': 'the form of a message on the socket',
};

interface Label {
  /** The rule, with what it asks for. */
  readonly text: string;
  /** A web address; undefined for rules of Keyturn's own. */
  readonly readOn: string | undefined;
}

export function labelOf(rule: string): Label {
  const known = Object.keys(labels).find((reference) => rule.startsWith(reference));
  const [reference] =
    /\b(?:RFC \d+|OAuth 2\.1|OpenID Connect Core|draft-[\w-]+)(?: §\d+(?:\.\d+)*)?/.exec(rule) ?? [];
  const label = known !== undefined && isReferenceAlone(rule) ? `: ${labels[known]}` : '';
  return { text: `${rule}${label}`, readOn: reference === undefined ? undefined : addressOf(reference) };
}

/** No sentence is beside the references. */
function isReferenceAlone(rule: string): boolean {
  const rest = rule.replaceAll(
    /RFC \d+|OAuth 2\.1|OpenID Connect (?:Core|Discovery 1\.0)|JSON-RPC 2\.0|draft-[\w-]+|§[\d.]+|\([^)]*\)|[, ]/g,
    '',
  );
  return rest === '';
}

function addressOf(reference: string): string {
  const [name = '', section] = reference.split(' §');
  const [, number] = /^RFC (\d+)$/.exec(name) ?? [];
  const anchor = section === undefined ? '' : `#section-${section}`;
  if (number !== undefined) return `https://www.rfc-editor.org/rfc/rfc${number}${anchor}`;
  if (name === 'OpenID Connect Core') return 'https://openid.net/specs/openid-connect-core-1_0.html';
  const draft = name === 'OAuth 2.1' ? 'draft-ietf-oauth-v2-1' : name;
  return `https://datatracker.ietf.org/doc/html/${draft}${anchor}`;
}
