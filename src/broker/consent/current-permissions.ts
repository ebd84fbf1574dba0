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
import type { Need, Permission, AppAtEndpoint } from '../records/permission.ts';
import * as refusals from '../refusals/refusals.ts';
import type { WantedSignIn } from './sign-in-choice.ts';

/**
 * What an app asks for. `scope` is empty if it named none. For an API key, `endpoint` is the key's subject
 * (records/api-key.ts), and permissions and denials are looked up under that.
 */
export interface WantedAccess extends WantedSignIn, Need {
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

/** Permissions that cover a request, the longest-lasting first. */
export type Covering = readonly [Permission, ...Permission[]];

export class CurrentPermissions {
  readonly #parts: BrokerParts;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
  }

  /** The user's decision on disk. `decision` says whether it allows or denies. */
  onDisk({ appId, endpoint }: AppAtEndpoint): Permission | undefined {
    return this.#parts.permissions.find(appId, endpoint, this.#parts.clock.wall());
  }

  /** All permissions there, the one on disk first. Throws `consent_denied` if one of them refuses a part of the request. */
  all(wanted: WantedAccess): Permission[] {
    const { appId, endpoint, appProcess } = wanted;
    const forNow = this.#parts.temporary.find(appId, endpoint, appProcess, this.#parts.clock.wall());
    const onDisk = this.onDisk(wanted);
    const all = onDisk ? [onDisk, ...forNow] : forNow;
    if (all.some((permission) => isDenied(permission, wanted))) throw this.consentDenied(wanted);
    return all;
  }

  /** Those that cover the request; undefined if none does. Throws as `all`. */
  covering(wanted: WantedAccess): Covering | undefined {
    const [first, ...others] = this.all(wanted).filter((permission) => covers(permission, wanted));
    return first && [first, ...others];
  }

  /** The same where there must be one. Throws `consent_required`, and as `all`. */
  coveringOrThrow(wanted: WantedAccess): Covering {
    const covering = this.covering(wanted);
    if (!covering) throw this.consentRequired(wanted);
    return covering;
  }

  consentDenied({ appId, endpoint, signInId, apiKey: key }: WantedAccess): KeyturnError {
    if (key) return refusals.apiKeyDenied(this.#parts.apps.nameOf(appId), key);
    const signIn = signInId === undefined ? undefined : this.#parts.signIns.byId(signInId);
    return refusals.consentDenied(this.#parts.apps.nameOf(appId), endpoint, signIn);
  }

  consentRequired(wanted: WantedAccess): KeyturnError {
    const { appId, endpoint, scope, signInId, apiKey: key } = wanted;
    if (key) return refusals.apiKeyNotAllowed(this.#parts.apps.nameOf(appId), key);
    const current = this.all(wanted);
    // `keyturn app allow` replaces: what the app has already must be in the command that the hint shows.
    const kept = scope.length === 0 ? [] : (current[0]?.scope ?? []);
    return refusals.consentRequired({
      name: this.#parts.apps.nameOf(appId),
      endpoint,
      scope: [...new Set([...kept, ...scope])],
      isMore: current.length > 0,
      signIn: signInId === undefined ? undefined : this.#parts.signIns.byId(signInId),
    });
  }
}
