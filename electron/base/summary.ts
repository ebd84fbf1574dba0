/**
 * What the tray and the notifications show: open questions, servers, and what keeps tokens back.
 *
 * Invariant: read from the broker's own answers, which hold no secret; the last summary is kept only to compare it
 * with the next.
 */
import type * as z from 'zod';
import type { InProcessOwner } from '../../src/daemon/in-process-owner.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';

const grants = methods['grant.list'].result;
const interactions = methods['interaction.list'].result;

export type Question = z.output<typeof interactions>['interactions'][number];
export type Server = z.output<typeof grants>['grants'][number];

/** By us, by the system's keyring, or because nobody has chosen a passphrase yet. */
const lockedStates: ReadonlySet<string> = new Set(['new', 'locked', 'keychainLocked']);

export interface Summary {
  readonly questions: readonly Question[];
  /** Without those that were revoked. */
  readonly servers: readonly Server[];
  readonly isLocked: boolean;
  /** What opens the vault is typed by the person. */
  readonly needsPassphrase: boolean;
  readonly isOnline: boolean;
}

/** `isOnline`: what the system says of the network. Throws what the broker throws. */
export async function readSummary(owner: Pick<InProcessOwner, 'call'>, isOnline: boolean): Promise<Summary> {
  const [listed, open, status] = await Promise.all([
    owner.call('grant.list', {}),
    owner.call('interaction.list', {}),
    owner.call('status', {}),
  ]);
  const { vaultState, vaultKey } = methods.status.result.parse(status);
  return {
    questions: interactions.parse(open).interactions,
    servers: grants.parse(listed).grants.filter(({ state }) => state !== 'revoked'),
    isLocked: lockedStates.has(vaultState.state),
    needsPassphrase: vaultKey === 'passphrase',
    isOnline,
  };
}

/** True for what is answered on a card; a sign-in is done on its page in the browser. */
export function isCard({ kind }: Question): boolean {
  return kind !== 'login' && kind !== 'device';
}

/** True for a server where only the person can go on. */
export function isSignedOut({ state }: Server): boolean {
  return state === 'loginRequired';
}

/** One word for the whole, the most pressing first: what the icon shows. */
export const trayStates = ['waiting', 'locked', 'offline', 'signedOut', 'fine'] as const;
export type TrayState = (typeof trayStates)[number];

export function trayState({ questions, servers, isLocked, isOnline }: Summary): TrayState {
  if (questions.length > 0) return 'waiting';
  if (isLocked) return 'locked';
  if (!isOnline) return 'offline';
  return servers.some(isSignedOut) ? 'signedOut' : 'fine';
}

/** What is new since the last look and worth a notification. */
export interface Changes {
  readonly questions: readonly Question[];
  /** Servers that could be used before and now need the person. */
  readonly signedOut: readonly Server[];
}

export function changesSince(before: Summary, after: Summary): Changes {
  const known = new Set(before.questions.map(({ id }) => id));
  const wereOut = new Set(before.servers.filter(isSignedOut).map(({ id }) => id));
  const wereThere = new Set(before.servers.map(({ id }) => id));
  return {
    questions: after.questions.filter(({ id }) => !known.has(id)),
    signedOut: after.servers.filter(
      (server) => isSignedOut(server) && wereThere.has(server.id) && !wereOut.has(server.id),
    ),
  };
}
