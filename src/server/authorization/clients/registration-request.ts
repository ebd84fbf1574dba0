/**
 * What a registration may ask for and doesn't get (RFC 7591 §2, §3.2.1): it is left out, and the answer says what was
 * registered.
 *
 * Invariant: what is left out only takes something away from the client. A registration of which nothing usable
 * would be left goes on as it came, so that the refusal names the real reason.
 */
import { redirectProblem } from './redirect.ts';

/** Characters of a client's own name: it is on the consent page. */
export const maxClientName = 100;

/** The grant by an identity assertion (RFC 7523 §2.1). */
export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const authMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'];
const links = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'initiate_login_uri'];

/** Wishes about tokens and answers that have one form here. */
const wishes =
  /^(?:scope|subject_type|sector_identifier_uri|default_acr_values|default_max_age|require_\w+|(?:id_token|userinfo|request_object|authorization|introspection)_\w+_(?:alg|enc|response_alg|response_enc))$/;

type Members = Record<string, unknown>;

/** The registration without what isn't offered here. */
export function offeredRegistration(asked: Readonly<Members>): Members {
  const members: Members = Object.fromEntries(
    Object.entries(asked).filter(([name, value]) => !isEmpty(value) && !wishes.test(name)),
  );
  keep(members, 'redirect_uris', (uri) => typeof uri === 'string' && redirectProblem(uri) === undefined);
  keep(members, 'response_types', (type) => type === 'code');
  keep(members, 'contacts', (contact) => typeof contact === 'string');
  if (!authMethods.includes(String(members['token_endpoint_auth_method']))) {
    delete members['token_endpoint_auth_method'];
  }
  for (const link of links) if (!isWebUrl(members[link])) delete members[link];
  const { client_name: name } = members;
  if (typeof name === 'string') members['client_name'] = name.slice(0, maxClientName).toWellFormed().trim();
  // The two types differ in redirects that this server judges by itself.
  members['application_type'] = 'native';
  return members;
}

/** Leaves out elements of a list, unless none would be left. */
function keep(members: Members, name: string, isOffered: (element: unknown) => boolean): void {
  const { [name]: asked } = members;
  if (!Array.isArray(asked)) return;
  const offered = [...new Set(asked.filter(isOffered))];
  if (offered.length > 0) members[name] = offered;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function isWebUrl(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url !== null && ['http:', 'https:'].includes(url.protocol);
}
