/**
 * The desktop's own words: menu, tray and notifications (words/ has them all). The windows' words are the page's.
 *
 * Invariant: text from servers and apps is bounded before it is put in a sentence, and in quotation marks if it
 * could pass for our own words. What can't be seen in it is written out. A menu
 * never takes a character of it for a mnemonic, and a notification none for markup.
 */
import { askedParts } from '../../words/en/asked.ts';
import { appKind } from '../../words/app-kind.ts';
import { desktop as english } from '../../words/en/desktop.ts';
import { bindMessages } from '../../words/messages.ts';
import { seenText } from '../../words/seen-text.ts';
import type { KeyturnError } from '../../src/base/errors.ts';
import type { Pause, Question, Row, Server } from './summary.ts';

/** A menu is read at a glance: a longer name is cut and ends with an ellipsis. */
const maxNameLength = 60;

/** One word that reads as a name or an address, and as nothing else. */
const plainName = /^[\p{L}\p{N}][\p{L}\p{N}._@+:/-]*$/u;

function quotedName(text: string): string {
  const { seen, isCut } = seenText(text, maxNameLength);
  if (seen === text && plainName.test(text)) return text;
  return `“${seen.replace(/[“”]/g, '"')}${isCut ? '…' : ''}”`;
}

/** More are not worth a line each. */
const maxSwitches = 5;

export function refusedSwitches(given: readonly string[]): string {
  const said = words().switches({ switches: given.slice(0, maxSwitches).map(quotedName).join(', ') });
  return given.includes('--no-sandbox') ? `${said} ${words().noSandbox}` : said;
}

/** A server, a sign-in provider or a page by its address, without `https://`. */
export function serverName(url: string): string {
  return quotedName(url.replace(/^https:\/\//, ''));
}

/** In a menu one `&` underlines the next letter. */
export function inMenu(text: string): string {
  return text.replaceAll('&', '&&');
}

const lookAlikes: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '&': '＆' };

/**
 * On Linux Electron hands the text on as it is, and most desktops read it as markup (Desktop Notifications
 * Specification, "Markup"), with links and pictures; some show it as it is. So what markup is made of is
 * replaced, which reads the same on all of them.
 */
export function inNotification(text: string, platform: NodeJS.Platform = process.platform): string {
  return platform === 'linux' ? text.replace(/[<>&]/g, (sign) => lookAlikes[sign] ?? '') : text;
}

const inLocale = (locale: string) => ({ locale, words: bindMessages<typeof english>(english, locale) });

/** The system says its locale once the app is ready. */
let now = inLocale('en');

/** From here on numbers, dates and times are written by this locale (`englishLocale`, words/locale.ts). */
export function useLocale(locale: string): void {
  now = inLocale(locale);
}

export const locale = (): string => now.locale;

export const words = () => now.words;

export function serverLine({ endpoint, state }: Server): string {
  const { server, states } = words();
  return server({ server: serverName(endpoint), state: states[state] ?? quotedName(state) });
}

/** A refusal for a dialog. */
export const refusalWords = ({ message, hint }: Pick<KeyturnError, 'message' | 'hint'>): string =>
  hint === undefined ? message : `${message}\n${hint}`;

export const signedOutWords = ({ endpoint }: Server): string =>
  words().signedOut({ server: serverName(endpoint) });

/** What a card asks. */
export const cardWords = (questions: readonly [Question, ...Question[]]): string =>
  askedParts<never>(words(), questions, { name: quotedName, address: serverName }).join('');

/** Who asks, as the messages take it. */
const appWords = (client = '') => ({ who: appKind(client), app: quotedName(client) });

/** A time of today by the clock of the user's locale; of another day with its date. */
function clockTime(milliseconds: number, today = Date.now()): string {
  const date = new Date(milliseconds);
  const isToday = date.toDateString() === new Date(today).toDateString();
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  return date.toLocaleString(locale(), isToday ? time : { ...time, day: 'numeric', month: 'short' });
}

export function pauseWords({ until }: Pause): string {
  return until === undefined ? words().paused : words().pausedUntil({ time: clockTime(until * 1000) });
}

/** What happened, for the menu. Undefined for what isn't about access. */
export function activityWords(row: Row): string | undefined {
  const what = activityOf(row);
  if (what === undefined) return undefined;
  const { activity } = words();
  const time = clockTime(row.time);
  return row.count === undefined
    ? activity.row({ time, what })
    : activity.rowOften({ time, what, count: row.count });
}

function activityOf({ event, outcome = 'ok', app: client, endpoint = '' }: Row): string | undefined {
  const { activity } = words();
  const names = { ...appWords(client), server: serverName(endpoint) };
  switch (event) {
    case 'token':
      return activity.token(names);
    case 'apiKey':
      return outcome === 'given' ? activity.key(names) : undefined;
    case 'refused':
      return activity.refused(names);
    case 'signIn':
      return activity.signedIn({ server: names.server });
    case 'pause':
      if (outcome === 'resumed') return activity.resumed;
      return outcome === 'over' ? activity.pauseEnded : activity.paused;
    default:
      return undefined;
  }
}
