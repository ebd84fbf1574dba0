/**
 * What an app may have at this moment: its permission on disk, and temporary ones in memory.
 *
 * Invariant: nothing here waits. An answer holds until the caller's next `await`. After that the caller asks again,
 * because the user may have ended or denied something in between.
 */
import type { BrokerParts } from '../parts.ts';
import type { KeyturnError } from '../../base/errors.ts';
import type { ApiKey } from '../records/api-key.ts';
import { cliAppId } from '../records/app.ts';
import type { AppProcess } from '../approval-requests/app-process.ts';
import { covers, isDenied } from '../records/permission.ts';
import type { WantedPermission, Permission, AppAtEndpoint } from '../records/permission.ts';
import * as refusals from '../refusals/permission-refusals.ts';
import type { WantedSignIn } from './sign-in-choice.ts';

/**
 * What an app asks for. `scope` is empty if it named none. For an API key, `endpoint` is the key's target
 * (records/api-key.ts), and permissions and denials are looked up under that.
 */
export interface WantedAccess extends WantedSignIn, WantedPermission {
  readonly apiKey?: ApiKey;
  /** Of the URL that is asked for: for the card only. */
  readonly query?: string;
  readonly appProcess?: AppProcess | undefined;
  readonly interaction: 'never' | 'allow';
  /** The answer may come after the process that asks has ended. */
  readonly isDetached?: boolean | undefined;
}

/** A card is about one process, so that the user can allow just that one. Processes that can't wait share one. */
export const runOf = ({ appId, appProcess, isDetached }: WantedAccess): string =>
  appId === cliAppId || isDetached ? '' : (appProcess?.run ?? '');

/** The permissions that cover a request: the one on disk, then temporary ones, those for one token last. */
export type CoveringPermissions = readonly [Permission, ...Permission[]];

/** The user's decision on disk. `decision` says whether it allows or denies. */
export function permissionOnDisk(
  parts: BrokerParts,
  { appId, endpoint }: AppAtEndpoint,
): Permission | undefined {
  return parts.permissions.find(appId, endpoint, parts.clock.wall());
}

/** The one on disk first. */
function permissionsThere(parts: BrokerParts, wanted: WantedAccess): Permission[] {
  const { appId, endpoint, appProcess } = wanted;
  const forNow = parts.temporaryPermissions.find(appId, endpoint, appProcess, parts.clock.wall());
  const onDisk = permissionOnDisk(parts, wanted);
  return onDisk ? [onDisk, ...forNow] : forNow;
}

/** The same. Throws `consent_denied` if one of them refuses a part of the request. */
export function allPermissions(parts: BrokerParts, wanted: WantedAccess): Permission[] {
  const all = permissionsThere(parts, wanted);
  if (all.some((permission) => isDenied(permission, wanted))) throw consentDenied(parts, wanted);
  return all;
}

/** Those that cover the request; undefined if none does. Throws as `allPermissions`. */
export function coveringPermissions(
  parts: BrokerParts,
  wanted: WantedAccess,
): CoveringPermissions | undefined {
  const [first, ...others] = allPermissions(parts, wanted).filter((permission) => covers(permission, wanted));
  return first && [first, ...others];
}

/** The same where there must be one. Throws `consent_required`, and as `allPermissions`. */
export function coveringPermissionsOrThrow(parts: BrokerParts, wanted: WantedAccess): CoveringPermissions {
  const found = coveringPermissions(parts, wanted);
  if (!found) throw consentRequired(parts, wanted);
  return found;
}

export function consentDenied(parts: BrokerParts, wanted: WantedAccess): KeyturnError {
  const { appId, endpoint, scope, signInId, apiKey: key } = wanted;
  if (key) return refusals.apiKeyDenied(parts.apps.nameOf(appId), key);
  const signIn = signInId === undefined ? undefined : parts.signIns.byId(signInId);
  const by = permissionsThere(parts, wanted).find((permission) => isDenied(permission, wanted));
  return refusals.consentDenied(parts.apps.nameOf(appId), endpoint, signIn, { by, scope });
}

/** `wasDismissed`: the user dismissed a card about it, or did not answer in time. */
export function consentRequired(
  parts: BrokerParts,
  wanted: WantedAccess,
  wasDismissed: boolean = false,
): KeyturnError {
  const { appId, endpoint, scope, signInId, apiKey: key } = wanted;
  if (key) return refusals.apiKeyNotAllowed(parts.apps.nameOf(appId), key, wasDismissed);
  const [current] = allPermissions(parts, wanted);
  const { read } = parts.permissions.asRead(wanted);
  const ended = current || read?.decision !== 'allow' ? undefined : read;
  // `keyturn app allow` replaces: what the app has already must be in the command that the hint shows, and no more time.
  const kept = ended || scope.length > 0 ? ((current ?? ended)?.scope ?? []) : [];
  return refusals.consentRequired({
    name: parts.apps.nameOf(appId),
    endpoint,
    scope: [...new Set([...kept, ...scope])],
    current,
    ended,
    signIn: signInId === undefined ? undefined : parts.signIns.byId(signInId),
    wasDismissed,
  });
}
