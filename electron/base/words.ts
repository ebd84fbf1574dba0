/**
 * The desktop's own English: menu, tray and notifications. The windows' words are the page's.
 *
 * Invariant: text from servers and programs is quoted and bounded before it stands in a sentence, a menu
 * never takes a character of it for a mnemonic, and a notification none for markup.
 */
import { quoted } from '../../src/base/errors.ts';
import type { Question, Server, TrayState } from './summary.ts';

/** A menu is read at a glance: a longer name is cut and ends with an ellipsis. */
const maxNameLength = 60;

function quotedName(text: string): string {
  return quoted(text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text);
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
  open: 'Open Keyturn',
  startAtLogin: 'Start at login',
  quit: 'Quit',
  question: 'Keyturn needs your answer',
  signedOut: (server: Server) => `${serverName(server.endpoint)} needs you to sign in again`,
  signedOutTitle: 'Signed out',
  exportTitle: 'Export activity',
  view: 'View',
  startFailed: 'Keyturn could not start',
  faulted: 'Keyturn stopped',
  report: 'Something went wrong inside Keyturn. Please report it.',
};
