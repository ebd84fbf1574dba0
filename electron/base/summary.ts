/**
 * What the tray and the notifications show: open questions, servers, and what keeps tokens back.
 *
 * Invariant: read from the broker's own answers, which hold no secret. Only the state of the network is the system's.
 */
import type * as z from 'zod';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { cardsOf, type Card } from '../../words/en/asked.ts';

const signIns = methods['signIn.list'].result;
const approvalRequests = methods['request.list'].result;
const audit = methods['audit.tail'].result;

export type Question = z.output<typeof approvalRequests>['requests'][number];
export type Server = z.output<typeof signIns>['signIns'][number];
export type Row = z.output<typeof audit>['rows'][number];
export type Pause = NonNullable<z.output<typeof methods.status.result>['pause']>;

/** By us, by the system's keyring, or because nobody has chosen a passphrase yet. */
const lockedStates: ReadonlySet<string> = new Set(['new', 'locked', 'keychainLocked']);

/** The other states that the window's banner speaks of: the vault fails, or waits for the keychain. */
const failedStates: ReadonlySet<string> = new Set(['waiting', 'absent', 'crashed', 'full', 'damaged']);

export interface Summary {
  readonly questions: readonly Question[];
  /** Without those that were revoked. */
  readonly servers: readonly Server[];
  readonly isLocked: boolean;
  /** The vault fails, or waits for the keychain. */
  readonly isVaultFailed: boolean;
  /** All access is paused. */
  readonly pause?: Pause | undefined;
  /** Newest rows of the audit log, the newest first. */
  readonly rows: readonly Row[];
  /** What opens the vault is typed by the user. */
  readonly needsPassphrase: boolean;
  readonly isOnline: boolean;
}

/** Rows of the log that are read: refreshes and the like stand between those that the menu shows. */
const maxRows = 40;

/** `isOnline`: what the system says of the network. Throws what the broker throws. */
export async function readSummary(owner: Pick<InProcessOwner, 'call'>, isOnline: boolean): Promise<Summary> {
  const [listed, open, status, tail] = await Promise.all([
    owner.call('signIn.list', {}),
    owner.call('request.list', {}),
    owner.call('status', {}),
    owner.call('audit.tail', { count: maxRows }),
  ]);
  const { vaultState, vaultOpenedBy, pause } = methods.status.result.parse(status);
  return {
    questions: approvalRequests.parse(open).requests,
    servers: signIns.parse(listed).signIns.filter(({ state }) => state !== 'revoked'),
    isLocked: lockedStates.has(vaultState.state),
    isVaultFailed: failedStates.has(vaultState.state),
    pause,
    rows: audit.parse(tail).rows.toReversed(),
    needsPassphrase: vaultOpenedBy === 'passphrase',
    isOnline,
  };
}

/** The card that shows a question, by the id of the question that opened it. */
export const cardOf = ({ id, card = id }: Question): string => card;

/** True for what is answered on a card; a sign-in is done on its page in the browser. */
export function isCard({ kind }: Question): boolean {
  return kind !== 'signIn' && kind !== 'device';
}

/** True for a server where only the user can go on. */
export function isSignedOut({ state }: Server): boolean {
  return state === 'signInRequired';
}

/** One word for the whole, the most pressing first. */
const trayStates = ['waiting', 'locked', 'vaultFailed', 'paused', 'offline', 'signedOut', 'fine'] as const;
export type TrayState = (typeof trayStates)[number];

/** What the icon shows: few enough shapes that they differ at 16 pixels. The tooltip has the word. */
const trayShapes = {
  waiting: 'waiting',
  locked: 'held',
  vaultFailed: 'trouble',
  paused: 'held',
  offline: 'trouble',
  signedOut: 'trouble',
  fine: 'fine',
} as const satisfies Readonly<Record<TrayState, string>>;

export type TrayShape = (typeof trayShapes)[TrayState];

export const trayShape = (summary: Summary): TrayShape => trayShapes[trayState(summary)];

export function trayState(summary: Summary): TrayState {
  const { questions, servers, isLocked, isVaultFailed, pause, isOnline } = summary;
  if (questions.length > 0) return 'waiting';
  if (isLocked) return 'locked';
  if (isVaultFailed) return 'vaultFailed';
  if (pause) return 'paused';
  if (!isOnline) return 'offline';
  return servers.some(isSignedOut) ? 'signedOut' : 'fine';
}

/** What is new since the last look and worth a notification. */
export interface Changes {
  /** Those with a new question, whole. */
  readonly cards: readonly Card<Question>[];
  /** Servers that could be used before and now need the user. */
  readonly signedOut: readonly Server[];
}

export function changesSince(before: Summary, after: Summary): Changes {
  const known = new Set(before.questions.map(({ id }) => id));
  const wereOut = new Set(before.servers.filter(isSignedOut).map(({ id }) => id));
  const wereThere = new Set(before.servers.map(({ id }) => id));
  return {
    cards: cardsOf(after.questions).filter(({ questions }) => questions.some(({ id }) => !known.has(id))),
    signedOut: after.servers.filter(
      (server) => isSignedOut(server) && wereThere.has(server.id) && !wereOut.has(server.id),
    ),
  };
}
