/**
 * The tray's menu as data: what is in it and what each row does.
 *
 * Invariant: a pure function of the state. Questions come first. No row approves anything: a question's row opens its
 * card, or the page of a sign-in.
 */
import { cardsOf, type Card } from '../../words/en/asked.ts';
import { isCard, isSignedOut } from '../base/summary.ts';
import type { Pause, Question, Row, Server, Summary } from '../base/summary.ts';
import {
  activityWords,
  cardWords,
  inMenu,
  pauseWords,
  serverLine,
  serverName,
  words,
} from '../base/words.ts';

export type TrayAction =
  | { readonly type: 'card'; readonly id: string }
  /** Opens the page of a sign-in that waits, in the browser. */
  | { readonly type: 'page'; readonly id: string }
  | { readonly type: 'signIn'; readonly server: string }
  | { readonly type: 'startAtLogin'; readonly isOn: boolean }
  /** Seconds; absent: until the user resumes. */
  | { readonly type: 'pause'; readonly seconds?: number }
  | { readonly type: 'lock' | 'unlock' | 'open' | 'quit' };

export type MenuRow =
  | { readonly kind: 'line' }
  | { readonly kind: 'text'; readonly label: string }
  | {
      readonly kind: 'action';
      readonly label: string;
      readonly action: TrayAction;
      readonly isChecked?: boolean;
    }
  | { readonly kind: 'group'; readonly label: string; readonly rows: readonly MenuRow[] };

export interface MenuState extends Summary {
  readonly startsAtLogin: boolean;
}

const line: MenuRow = { kind: 'line' };

/** More than a screen's height helps nobody: the window shows all. */
const maxServers = 20;

/** The window has the rest. */
const maxActivities = 6;

const hour = 3600;

export function menuRows(state: MenuState): readonly MenuRow[] {
  const questions = cardsOf(state.questions).map(cardRow);
  return [
    ...questions,
    ...(questions.length > 0 ? [line] : []),
    ...serverRows(state.servers),
    line,
    { kind: 'group', label: words().recent, rows: activityRows(state.rows) },
    ...pauseRows(state.pause),
    state.isLocked
      ? actionRow(words().unlock, { type: 'unlock' })
      : actionRow(words().lock, { type: 'lock' }),
    actionRow(words().open, { type: 'open' }),
    {
      ...actionRow(words().startAtLogin, { type: 'startAtLogin', isOn: !state.startsAtLogin }),
      isChecked: state.startsAtLogin,
    },
    line,
    actionRow(words().quit, { type: 'quit' }),
  ];
}

function cardRow({ id, questions }: Card<Question>): MenuRow {
  return actionRow(cardWords(questions), { type: isCard(questions[0]) ? 'card' : 'page', id });
}

function serverRows(servers: readonly Server[]): readonly MenuRow[] {
  if (servers.length === 0) return [{ kind: 'text', label: words().noServers }];
  const pressing = servers.toSorted((a, b) => Number(isSignedOut(b)) - Number(isSignedOut(a)));
  return pressing.slice(0, maxServers).map((server) => ({
    kind: 'group',
    label: inMenu(serverLine(server)),
    rows: [
      { kind: 'text', label: inMenu(serverName(server.issuer)) },
      actionRow(words().signInAgain, { type: 'signIn', server: server.endpoint }),
    ],
  }));
}

function activityRows(rows: readonly Row[]): readonly MenuRow[] {
  const told = rows.flatMap((row) => activityWords(row) ?? []).slice(0, maxActivities);
  return (told.length === 0 ? [words().nothingRecent] : told).map((label) => ({
    kind: 'text',
    label: inMenu(label),
  }));
}

/** Resuming gives more: it is pressed in the window. */
function pauseRows(pause: Pause | undefined): readonly MenuRow[] {
  if (pause) return [{ kind: 'text', label: pauseWords(pause) }, actionRow(words().resume, { type: 'open' })];
  const rows = [
    actionRow(words().pauseForHour, { type: 'pause', seconds: hour }),
    actionRow(words().pauseForGood, { type: 'pause' }),
  ];
  return [{ kind: 'group', label: words().pause, rows }];
}

function actionRow(label: string, action: TrayAction): MenuRow & { readonly kind: 'action' } {
  return { kind: 'action', label: inMenu(label), action };
}
