/**
 * The tray's menu as data: what stands in it and what each row does.
 *
 * Invariant: a function of what is so now; it does nothing. Questions come first, and no row allows
 * anything: it leads to the card that does.
 */
import { isCard, isSignedOut } from '../base/summary.ts';
import type { Question, Server, Summary } from '../base/summary.ts';
import { inMenu, questionWords, serverName, serverState, words } from '../base/words.ts';

export type Act =
  | { readonly does: 'card'; readonly id: string }
  /** Opens the page of a sign-in that waits, in the browser. */
  | { readonly does: 'page'; readonly id: string }
  | { readonly does: 'signIn'; readonly server: string }
  | { readonly does: 'startAtLogin'; readonly isOn: boolean }
  | { readonly does: 'lock' | 'unlock' | 'open' | 'quit' };

export type Row =
  | { readonly kind: 'line' }
  | { readonly kind: 'text'; readonly label: string }
  | { readonly kind: 'act'; readonly label: string; readonly act: Act; readonly isChecked?: boolean }
  | { readonly kind: 'group'; readonly label: string; readonly rows: readonly Row[] };

export interface MenuState extends Summary {
  readonly startsAtLogin: boolean;
}

const line: Row = { kind: 'line' };

/** More than a screen's height helps nobody: the window shows all. */
const maxServers = 20;

export function menuRows(state: MenuState): readonly Row[] {
  const questions = state.questions.map(questionRow);
  return [
    ...questions,
    ...(questions.length > 0 ? [line] : []),
    ...serverRows(state.servers),
    line,
    state.isLocked ? act(words.unlock, { does: 'unlock' }) : act(words.lock, { does: 'lock' }),
    act(words.open, { does: 'open' }),
    {
      ...act(words.startAtLogin, { does: 'startAtLogin', isOn: !state.startsAtLogin }),
      isChecked: state.startsAtLogin,
    },
    line,
    act(words.quit, { does: 'quit' }),
  ];
}

function questionRow(question: Question): Row {
  return act(questionWords(question), { does: isCard(question) ? 'card' : 'page', id: question.id });
}

function serverRows(servers: readonly Server[]): readonly Row[] {
  if (servers.length === 0) return [{ kind: 'text', label: words.noServers }];
  const pressing = servers.toSorted((a, b) => Number(isSignedOut(b)) - Number(isSignedOut(a)));
  return pressing.slice(0, maxServers).map((server) => ({
    kind: 'group',
    label: inMenu(`${serverName(server.endpoint)}: ${serverState(server)}`),
    rows: [
      { kind: 'text', label: inMenu(serverName(server.issuer)) },
      act(words.signInAgain, { does: 'signIn', server: server.endpoint }),
    ],
  }));
}

function act(label: string, does: Act): Row & { readonly kind: 'act' } {
  return { kind: 'act', label: inMenu(label), act: does };
}
