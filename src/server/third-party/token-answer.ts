/**
 * The answer of an upstream's token endpoint, as RFC 6749 §5 has it, whatever the upstream makes of it.
 *
 * Invariant: an answer without a token is never one with a token, and what can't be read stays as it is.
 */
import { isObject, parseJsonObject } from '../../oauth/base/json-object.ts';
import type { UpstreamAnswer } from '../authorization/accounts/upstream-client.ts';

export function standardAnswer(answer: UpstreamAnswer): UpstreamAnswer {
  const found = membersOf(answer);
  if (found === undefined) return answer;
  const own = personsOwn(found);
  // Empty members count as absent. An empty scope doesn't: it says that none was granted.
  const members = Object.fromEntries(
    Object.entries(own).filter(([name, value]) => value !== null && (value !== '' || name === 'scope')),
  );
  if (!members['access_token'] || members['ok'] === false) {
    // Slack and GitHub answer 200 with an error.
    if (typeof members['error'] !== 'string') return answer;
    const { access_token: _token, ...error } = members;
    return { status: answer.status === 200 ? 400 : answer.status, type: json, text: JSON.stringify(error) };
  }
  const { token_type: type = 'bearer', scope } = members;
  // Slack's types say whose token it is; it is sent as a Bearer token.
  members['token_type'] = type === 'user' || type === 'bot' ? 'bearer' : type;
  if (Array.isArray(scope)) members['scope'] = scope.join(' ');
  // GitHub and Slack separate scopes by commas. RFC 6749 §3.3 allows a comma within one.
  else if (typeof scope === 'string')
    members['scope'] = scope.includes(' ') ? scope.replace(/,(?= |$)/g, '') : scope.replaceAll(',', ' ');
  return { ...answer, type: json, text: JSON.stringify(members) };
}

const json = 'application/json';

/** Slack: the user's own token is below `authed_user`, beside that of the app or alone. */
function personsOwn(members: Record<string, unknown>): Record<string, unknown> {
  const { authed_user: person } = members;
  return isObject(person) && typeof person['access_token'] === 'string'
    ? { ...person, ok: members['ok'] }
    : members;
}

function membersOf({ text, type }: UpstreamAnswer): Record<string, unknown> | undefined {
  if (/^application\/x-www-form-urlencoded\b/i.test(type))
    return Object.fromEntries(new URLSearchParams(text));
  return parseJsonObject(text);
}
