/**
 * What a home allows that was used without the app: listed on a card at the app's first use, and removed unless you
 * keep it.
 *
 * Invariant: denials and a pause are never removed. All that is removed ends at once, in one document.
 */
import { quoted } from '../../base/errors.ts';
import { apiKeyTarget } from '../../broker/records/api-key.ts';
import { isLiving } from '../../broker/records/sign-in.ts';
import type { Records } from '../../broker/records/records.ts';
import type { AllowedGroup } from '../../broker/approval-requests/question.ts';
import { maxLength } from '../../ipc/wire/limits.ts';

export type AllowedRecords = Pick<
  Records,
  'signIns' | 'registrations' | 'apps' | 'permissions' | 'exceptions' | 'proxies' | 'keys'
>;

/** Lines of one group. The rest is counted. */
const maxLines = 10;

/** The groups that have something. */
export function allowedIn(records: AllowedRecords): readonly AllowedGroup[] {
  const { signIns, registrations, apps, permissions, exceptions, proxies, keys } = records;
  const nameOf = (id: string): string => apps.items.find((app) => app.id === id)?.name ?? id;
  const placeOf = (target: string): string => {
    const key = keys.items.find((one) => apiKeyTarget(one) === target);
    return key ? `the API key for ${key.endpoint}` : target;
  };
  const all: Record<AllowedGroup['what'], readonly string[]> = {
    signIns: signIns.items
      .filter(isLiving)
      .map(({ endpoints, issuer, account }) => `${endpoints[0] ?? ''}: ${quoted(account)} at ${issuer}`),
    apiKeys: keys.items.map(({ endpoint }) => endpoint),
    apps: apps.items.map(({ name }) => name),
    permissions: permissions.items
      .filter(({ decision }) => decision === 'allow')
      .map(({ appId, endpoint }) => `${nameOf(appId)}: ${placeOf(endpoint)}`),
    exceptions: exceptions.items.map(({ server, names }) => `${server}: ${names.join(', ')}`),
    oauthClients: registrations.items
      .filter(({ isRejected }) => isRejected !== true)
      .map(({ registration }) => `${quoted(registration.clientId)} at ${registration.issuer}`),
    proxies: proxies.items.map(({ name, endpoint }) => `${name}: ${endpoint}`),
  };
  const groups = Object.keys(all) as AllowedGroup['what'][];
  return groups
    .filter((what) => all[what].length > 0)
    .map((what) => ({
      what,
      count: all[what].length,
      lines: all[what].slice(0, maxLines).map((line) => line.slice(0, maxLength.url)),
    }));
}

/** `now`: milliseconds since 1970. The authorization servers are told later. Throws as a change of the document. */
export async function removeAllowed(records: AllowedRecords, now: number): Promise<void> {
  const state = { kind: 'revoked', receipt: 'pending', endedAt: now } as const;
  const needed = new Set(
    records.signIns.items.flatMap(({ registrationId, earlier = [] }) => [
      registrationId,
      ...earlier.map((one) => one.registrationId),
    ]),
  );
  // Made at once, so that the first write has all of them.
  await Promise.all([
    records.permissions.change((all) => all.filter(({ decision }) => decision === 'deny')),
    records.signIns.change((all) => all.map((signIn) => (isLiving(signIn) ? { ...signIn, state } : signIn))),
    // Only the client that a token was issued to can revoke it. No sign-in uses a rejected one.
    records.registrations.change((all) =>
      all.filter(({ id }) => needed.has(id)).map((one) => ({ ...one, isRejected: true })),
    ),
    records.apps.change(() => []),
    records.exceptions.change(() => []),
    records.proxies.change(() => []),
    records.keys.change(() => []),
  ]);
}
