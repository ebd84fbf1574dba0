/**
 * Stores what the user decided about an app: permissions on disk, and temporary ones in memory.
 *
 * Invariants: a change is valid only while what it was made from is still there, so that a slow approval never brings
 * back what the user ended. An approval allows the scopes and the sign-in that the card showed, and no more. A denial
 * takes nothing away that was allowed before. A temporary permission leaves what is on disk as it was.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import { keyedMutex } from '../../base/mutex.ts';
import { union } from '../../oauth/base/scope.ts';
import type { Decision } from '../approval-requests/answer.ts';
import type { AppProcessView } from '../approval-requests/app-process.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { ApiKeys } from '../records/api-key.ts';
import { cliAppId } from '../records/app.ts';
import { isAskedBy } from '../approval-requests/question.ts';
import { covers, isFixedTo, isDenied, keyOf } from '../records/permission.ts';
import type { AsRead, Permission, AppAtEndpoint } from '../records/permission.ts';
import { keptAccount } from './sign-in-choice.ts';
import { allPermissions, consentRequired, permissionOnDisk } from './current-permissions.ts';
import type { WantedAccess } from './current-permissions.ts';

export interface ShownOffer {
  readonly scope: readonly string[];
  /** Ids of the sign-ins that an approval names. */
  readonly signInIds: readonly string[];
  readonly appProcess: AppProcessView | undefined;
}

type ApprovedOffer = Pick<ShownOffer, 'scope' | 'signInIds'>;

/** Every program can ask under the name of the command line, so a card allows it for one hour (milliseconds). */
const cliDuration = 3_600_000;

export class PermissionChanges {
  readonly #parts: BrokerParts;
  /** Two answers about one app and server: the second one adds to what the first one wrote. */
  readonly #inTurn = keyedMutex();

  constructor(parts: BrokerParts) {
    this.#parts = parts;
  }

  /**
   * Resolves once it is in the document (store/document.ts). Closes the cards that it answers. Throws `conflict` if the
   * stored permission isn't `expected`.
   */
  async set(permission: Permission, expected?: AsRead): Promise<void> {
    await this.#parts.permissions.set(permission, expected);
    await this.noteInAuditLog(permission, permission.decision, permission.scope);
    this.#closeAnswered(permission);
  }

  /**
   * Fixes a permission to the sign-in of its first token, with the resource that discovery verified, and, where
   * the card named none, to the first scopes. Throws `conflict` if the user decided otherwise meanwhile.
   */
  async fix(permission: Permission, signIn: SignIn, scope: readonly string[]): Promise<Permission> {
    if (isFixedTo(permission, signIn.id)) return permission;
    const { resource = signIn.resource, signInIds = [] } = permission;
    const { fixAtFirstToken = false, ...rest } = permission;
    const named = { resource, signInIds: union(signInIds, [signIn.id]) };
    const fixed = { ...rest, ...named, ...(fixAtFirstToken ? { scope: [...scope] } : {}) };
    await this.#replace(permission, fixed);
    return fixed;
  }

  allow(wanted: WantedAccess, card: ShownOffer, decision: Decision): Promise<void> {
    return this.#inTurn(keyOf(wanted), () => this.#allow(wanted, card, decision));
  }

  async #allow(wanted: WantedAccess, card: ShownOffer, decision: Decision): Promise<void> {
    const allowed = { scope: decision.scope ?? card.scope, signInIds: card.signInIds };
    if (decision.asBefore) return this.#allowAsBefore(wanted, allowed);
    const found = permissionOnDisk(this.#parts, wanted);
    const before = found?.decision === 'allow' ? found : undefined;
    // The user decided by a command while the card was open.
    if (before && covers(before, { ...wanted, scope: allowed.scope })) return;
    const time = decision.time ?? (isCli(wanted) && before?.until === undefined ? cliDuration : undefined);
    const permission = this.#widened(wanted, before, allowed, time);
    // An answer with a time of its own leaves the permission on disk as it is, with its end and its scopes.
    if (decision.run || decision.once || (before && time !== undefined))
      await this.#allowForNow(permission, card, decision);
    else await this.set(permission);
  }

  /**
   * The account of a permission, for requests that name none. `signInIds`: those of the account, for a permission that names
   * none yet; it keeps its scopes and its end. Throws `conflict` if the user decided otherwise meanwhile.
   */
  async choose(permission: Permission, account: string, signInIds?: readonly string[]): Promise<void> {
    await this.#replace(permission, {
      ...permission,
      account,
      ...(signInIds && { signInIds: [...signInIds] }),
    });
  }

  /** The denial is remembered as long as the permission that it is added to; without one, for good. */
  deny(wanted: WantedAccess): Promise<void> {
    return this.#inTurn(keyOf(wanted), () => this.#deny(wanted));
  }

  async #deny(wanted: WantedAccess): Promise<void> {
    const { appId, endpoint, signInId } = wanted;
    const createdAt = this.#parts.clock.wall();
    const [before] = allPermissions(this.#parts, wanted);
    if (!before) return this.set({ appId, endpoint, decision: 'deny', createdAt });
    const more = wanted.scope.filter((name) => !before.scope?.includes(name));
    const after = {
      ...before,
      ...(signInId === undefined
        ? { deniedScope: union(before.deniedScope ?? [], more) }
        : { deniedSignInIds: union(before.deniedSignInIds ?? [], [signInId]) }),
    };
    await this.#replace(before, after);
    await this.noteInAuditLog(before, 'deny', more);
    this.#closeAnswered(after);
  }

  /** What an approval "as before" adds to: the permission on disk, else a temporary one with an end time; never a denial. */
  permissionAsBefore(place: AppAtEndpoint): Permission | undefined {
    const { appId, endpoint } = place;
    const onDisk = permissionOnDisk(this.#parts, place);
    if (onDisk) return onDisk.decision === 'allow' ? onDisk : undefined;
    const temporary = this.#parts.temporaryPermissions.of(appId, this.#parts.clock.wall());
    return temporary.find(({ permission, run }) => permission.endpoint === endpoint && !run)?.permission;
  }

  async noteInAuditLog(
    { appId, endpoint }: AppAtEndpoint,
    outcome: 'allow' | 'deny' | 'allow once' | 'allow for a run' | 'allow for a time' | 'void',
    scope: readonly string[] | undefined,
  ): Promise<void> {
    const app = this.#parts.apps.nameOf(appId);
    await this.#parts.audit.record({
      ...permissionRow(this.#parts.apiKeys, endpoint, outcome),
      app,
      scope,
    });
  }

  /**
   * Adds to what is allowed at this very moment, and keeps its end. The write compares: where the permission was
   * ended or changed since it was read, the approval is void, and the app has to ask again.
   */
  async #allowAsBefore(wanted: WantedAccess, allowed: ApprovedOffer): Promise<void> {
    const before = this.permissionAsBefore(wanted);
    if (before && covers(before, { ...wanted, scope: allowed.scope })) return;
    const after = before && this.#widened(wanted, before, allowed, undefined);
    if (!before || !after || !(await this.#isReplaced(before, after))) {
      await this.noteInAuditLog(wanted, 'void', allowed.scope);
      throw consentRequired(this.#parts, wanted);
    }
    await this.noteInAuditLog(
      after,
      this.#parts.temporaryPermissions.holding(after) ? 'allow for a time' : 'allow',
      after.scope,
    );
    this.#closeAnswered(after);
  }

  /** False where `before` is no longer there as it was read. */
  async #isReplaced(before: Permission, after: Permission): Promise<boolean> {
    try {
      await this.#replace(before, after);
      return true;
    } catch (error) {
      if (reasonOf(error) === 'conflict') return false;
      throw error;
    }
  }

  /** In memory if it is a temporary one, else on disk. */
  async #replace(before: Permission, after: Permission): Promise<void> {
    const temporary = this.#parts.temporaryPermissions.holding(before);
    if (temporary) this.#parts.temporaryPermissions.set({ ...temporary, permission: after });
    else await this.#parts.permissions.replace(before, after);
  }

  async #allowForNow(
    permission: Permission,
    { appProcess }: ShownOffer,
    { run, once }: Decision,
  ): Promise<void> {
    const { temporaryPermissions } = this.#parts;
    const span = once ? 'once' : run ? 'for a run' : 'for a time';
    await this.noteInAuditLog(permission, `allow ${span}`, permission.scope);
    if (span === 'for a time') return temporaryPermissions.set({ permission });
    // Race: the run may have ended while the row was written.
    if (appProcess?.nowIs() !== 'same') return;
    temporaryPermissions.set({ permission, run: appProcess, ...(once ? { once: true } : {}) });
  }

  /** Without a `time` (milliseconds) the end stays: the card asked for scopes or an account, not for more time. */
  #widened(
    wanted: WantedAccess,
    before: Permission | undefined,
    allowed: ApprovedOffer,
    time: number | undefined,
  ): Permission {
    const { appId, endpoint } = wanted;
    const createdAt = this.#parts.clock.wall();
    const scope = union(before?.scope ?? [], allowed.scope);
    const signInIds = union(before?.signInIds ?? [], allowed.signInIds);
    // The newer answer decides.
    const deniedScope = before?.deniedScope?.filter((name) => !scope.includes(name)) ?? [];
    const deniedSignInIds = before?.deniedSignInIds?.filter((id) => !signInIds.includes(id)) ?? [];
    const { fixAtFirstToken: _, ...stays } = before ?? {};
    return {
      ...stays,
      ...(time === undefined ? {} : { until: createdAt + time }),
      deniedScope,
      ...(deniedSignInIds.length > 0 ? { deniedSignInIds } : {}),
      appId,
      endpoint,
      decision: 'allow',
      createdAt,
      ...(scope.length > 0 ? { scope } : wanted.apiKey ? {} : { fixAtFirstToken: true }),
      ...(before && signInIds.length > (before.signInIds ?? []).length
        ? keptAccount(this.#parts.signIns, before)
        : {}),
      ...(signInIds.length > 0 ? { signInIds } : {}),
    };
  }

  /** Answers them with `dismiss`, which stores nothing: each request behind them then finds the new permission. */
  #closeAnswered(permission: Permission): void {
    for (const { id, question } of this.#parts.approvalRequests.list()) {
      if (question.kind !== 'allow' || !isAskedBy(question, permission.appId, permission.endpoint)) continue;
      const { scope = [], signIn } = question;
      const need = { scope, signInId: signIn?.isAboutAccountOnly ? signIn.id : undefined };
      if (isDenied(permission, need) || covers(permission, need)) {
        this.#parts.approvalRequests.answer(id, 'dismiss');
      }
    }
  }
}

const isCli = ({ appId }: WantedAccess): boolean => appId === cliAppId;

/** A row of the audit log about a permission: one for an API key says so, and names the endpoint of the key. */
export function permissionRow(
  keys: Pick<ApiKeys, 'shownOf'>,
  target: string,
  outcome: string,
): { readonly event: 'permission'; readonly outcome: string; readonly endpoint: string } {
  const key = keys.shownOf(target);
  if (!key) return { event: 'permission', outcome, endpoint: target };
  return { event: 'permission', outcome: `key: ${outcome}`, endpoint: key.endpoint };
}
