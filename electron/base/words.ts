/**
 * The desktop's own English: menu, tray and notifications. The windows' words are the page's.
 *
 * Invariant: text from servers and programs is bounded before it stands in a sentence, and in quotation marks if it
 * could pass for words of ours. What can't be seen in it is written out. A menu
 * never takes a character of it for a mnemonic, and a notification none for markup.
 */
import type { Pause, Question, Row, Server, TrayState } from './summary.ts';

/** A menu is read at a glance: a longer name is cut and ends with an ellipsis. */
const maxNameLength = 60;

/** One word that reads as a name or an address, and as nothing else. */
const plainName = /^[\p{L}\p{N}][\p{L}\p{N}._@+:/-]*$/u;

/** Controls, formats (bidi, zero width), surrogates, private use, unassigned; all spaces but the plain one. */
const unseen = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Marks on one letter: a pile of them covers the lines above. */
const piledMarks = /(\p{M}{2})\p{M}+/gu;

function quotedName(text: string): string {
  const characters = Array.from(text.slice(0, maxNameLength * 2));
  const isCut = characters.length > maxNameLength || text.length > maxNameLength * 2;
  const kept = characters.slice(0, maxNameLength).join('');
  if (!isCut && plainName.test(kept)) return kept;
  const seen = kept.replace(unseen, written).replace(piledMarks, '$1…').replace(/[“”]/g, '"');
  return `“${seen}${isCut ? '…' : ''}”`;
}

function written(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** A server by the address that the person typed. */
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

export const trayWords: Readonly<Record<TrayState, string>> = {
  fine: 'Keyturn',
  waiting: 'Keyturn: a request waits for you',
  signedOut: 'Keyturn: a server needs a sign-in',
  locked: 'Keyturn: locked',
  paused: 'Keyturn: all access is paused',
  offline: 'Keyturn: offline',
};

const stateWords: Readonly<Record<string, string>> = {
  active: 'signed in',
  refreshing: 'signed in',
  expired: 'expired',
  loginRequired: 'signed out',
};

export function serverState({ state }: Server): string {
  return stateWords[state] ?? quotedName(state);
}

export function questionWords(question: Question): string {
  const { kind, client = '', resource = '', issuer = '', account } = question;
  switch (kind) {
    case 'command':
      return `A command wants to ${commandWords(question)}`;
    case 'account':
      return `Another account signed in to ${serverName(resource)} at ${serverName(issuer)}`;
    case 'settings':
      return 'Settings were changed outside Keyturn';
    case 'allow':
      if (question.key) return `${quotedName(client)} wants to use your API key for ${serverName(resource)}`;
      return `${quotedName(client)} wants access to ${serverName(resource)}`;
    case 'url':
      return `${serverName(resource)} asks you to open a page at ${serverName(question.server ?? '')}`;
    case 'pair':
      return `${quotedName(client)} wants to connect`;
    default:
      return `Sign in to ${serverName(resource)} at ${serverName(issuer)}${account === undefined ? '' : ` as ${quotedName(account)}`}`;
  }
}

/** A time of today by the clock of the person's locale; of another day with its date. */
function clockTime(milliseconds: number, now = Date.now()): string {
  const date = new Date(milliseconds);
  const isToday = date.toDateString() === new Date(now).toDateString();
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  return date.toLocaleString([], isToday ? time : { ...time, day: 'numeric', month: 'short' });
}

export function pauseWords({ until }: Pause): string {
  return until === undefined
    ? 'All access is paused until you resume'
    : `All access is paused until ${clockTime(until * 1000)}`;
}

/** What happened, for the menu. Undefined for what isn't about access. */
export function activityWords({
  event,
  outcome = 'ok',
  client = '',
  endpoint = '',
  count,
  time,
}: Row): string | undefined {
  const what = activityOf(event, outcome, quotedName(client), serverName(endpoint));
  if (what === undefined) return undefined;
  return `${clockTime(time)}  ${what}${count === undefined ? '' : ` (${count} times)`}`;
}

function activityOf(event: string, outcome: string, app: string, server: string): string | undefined {
  switch (event) {
    case 'token':
      return `${app} got a token for ${server}`;
    case 'key':
      return outcome === 'given' ? `${app} got the API key for ${server}` : undefined;
    case 'refused':
      return `${app} was refused at ${server}`;
    case 'login':
      return outcome === 'ok' ? `You signed in to ${server}` : undefined;
    case 'pause':
      if (outcome === 'resumed') return 'You resumed all access';
      return outcome === 'over' ? 'The pause of all access ended' : 'You paused all access';
    default:
      return undefined;
  }
}

function commandWords(question: Question): string {
  const { command, client = '', resource = '', issuer = '', server = '', setting } = question;
  switch (command) {
    case 'key':
      return `set an API key for ${serverName(resource)}`;
    case 'allow':
      if (question.key) return `let ${quotedName(client)} use your API key for ${serverName(resource)}`;
      return `give ${quotedName(client)} access to ${serverName(resource)}`;
    case 'endDenial':
      return `undo the denial of ${quotedName(client)} at ${serverName(resource)}`;
    case 'register':
      return `add an OAuth client for ${serverName(issuer)}`;
    case 'login':
      return `sign in to ${serverName(resource)}`;
    case 'proxy':
      return `add a proxy for ${serverName(resource)}`;
    case 'override':
      return `add a security exception for ${serverName(server)}`;
    case 'settings':
      return `change the setting ${quotedName(setting?.name ?? '')}`;
    case 'backup':
      return 'open the backup of a configuration';
    case 'resume':
      return 'resume all access';
    case 'passphrase':
      return 'change the vault’s passphrase';
    default:
      return 'unlock the vault';
  }
}

export const words = {
  signInAgain: 'Sign in again',
  noServers: 'No servers yet',
  lock: 'Lock',
  unlock: 'Unlock',
  pause: 'Pause all access',
  pauseForHour: 'For 1 hour',
  pauseForGood: 'Until I resume',
  resume: 'Resume…',
  crashed: 'A window of Keyturn stopped working',
  crashedWhat: 'Nothing was allowed by it. Apps are served as before.',
  openAgain: 'Open it again',
  close: 'Close',
  noTray: 'Keyturn goes on without a window',
  noTrayWhat:
    'This desktop seems to show no tray icons. To see Keyturn again, start it again. Questions of apps open a window by themselves.',
  noTrayDone: 'OK',
  noTrayWindow: 'Open a window at login',
  recent: 'Recent activity',
  nothingRecent: 'Nothing yet',
  open: 'Open Keyturn',
  startAtLogin: 'Start at login',
  quit: 'Quit',
  question: 'Keyturn needs your answer',
  signedOut: (server: Server) => `${serverName(server.endpoint)} needs you to sign in again`,
  signedOutTitle: 'Signed out',
  exportTitle: 'Export activity',
  file: 'File',
  view: 'View',
  startFailed: 'Keyturn could not start',
  faulted: 'Keyturn stopped',
  report: 'Something went wrong inside Keyturn. Please report it.',
};
