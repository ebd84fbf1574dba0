/** The desktop's own words in English: menus, tray, dialogs and notifications. */
import { requests } from './requests.ts';

export const desktop = {
  tray: {
    fine: 'Keyturn',
    waiting: 'Keyturn: a request waits for you',
    signedOut: 'Keyturn: sign-in required',
    locked: 'Keyturn: locked',
    vaultFailed: 'Keyturn: your stored secrets need attention',
    paused: 'Keyturn: all access is paused',
    offline: 'Keyturn: offline',
  },

  /** A server in the menu. */
  server: '{server}: {state}',
  states: {
    active: 'signed in',
    refreshing: 'signed in',
    signInRequired: 'sign-in required',
  } as Readonly<Record<string, string | undefined>>,

  ...requests,

  /** What happened, after its time. */
  activity: {
    row: '{time}  {what}',
    rowOften: '{time}  {what} ({count, plural, one {# time} other {# times}})',
    token: '{who, select, command {The keyturn command} other {{app}}} got access to {server}',
    key: '{who, select, command {The keyturn command} other {{app}}} got the API key for {server}',
    refused: '{who, select, command {The keyturn command} other {{app}}} was refused at {server}',
    signedIn: 'Signed in to {server}',
    resumed: 'You resumed all access',
    pauseEnded: 'The pause of all access ended',
    paused: 'You paused all access',
  },

  paused: 'All access is paused until you resume',
  pausedUntil: 'All access is paused until {time}',
  signInAgain: 'Sign in again',
  noServers: 'No servers yet',
  lock: 'Lock',
  unlock: 'Unlock',
  pause: 'Pause all access',
  pauseForHour: 'For 1 hour',
  pauseForGood: 'Until I resume',
  resume: 'Resume…',
  crashed: 'A window of Keyturn stopped working',
  crashedWhat: 'Nothing was allowed. Apps keep the access that you gave them.',
  openAgain: 'Open it again',
  close: 'Close',
  noTray: 'Keyturn keeps running without a window',
  noTrayWhat:
    'This desktop seems to show no tray icons. To open the window, start Keyturn again. When an app asks, a window opens.',
  noTrayDone: 'OK',
  noTrayWindow: 'Open a window at login',
  recent: 'Recent activity',
  nothingRecent: 'Nothing yet',
  open: 'Open Keyturn',
  startAtLogin: 'Start at login',
  quit: 'Quit',
  question: 'A request waits for you',
  signedOut: 'Sign in again to {server}',
  signedOutTitle: 'Sign-in required',
  exportTitle: 'Export activity',
  file: 'File',
  view: 'View',
  edit: 'Edit',
  window: 'Window',
  /** Rows of the menus that do what every program's do. */
  roles: {
    about: 'About Keyturn',
    hide: 'Hide Keyturn',
    hideOthers: 'Hide others',
    unhide: 'Show all',
    quit: 'Quit Keyturn',
    close: 'Close window',
    minimize: 'Minimize',
    undo: 'Undo',
    redo: 'Redo',
    cut: 'Cut',
    copy: 'Copy',
    paste: 'Paste',
    selectAll: 'Select all',
    zoomIn: 'Larger',
    zoomOut: 'Smaller',
    resetZoom: 'Actual size',
  },
  held: 'A background service already runs Keyturn',
  heldWhat:
    'A systemd service (keyturn service install --socket) listens instead of the app. If you remove the service, the app starts. You keep your sign-ins and the access that you gave.',
  removeService: 'Remove the service',
  startFailed: 'Keyturn could not start',
  switches: 'Keyturn does not accept {switches}. docs/reference/app.md says why.',
  noSandbox:
    'An AppImage adds --no-sandbox if the system forbids user namespaces: install the deb or the rpm instead.',
  faulted: 'Keyturn stopped',
  report: 'Something went wrong inside Keyturn. Please report it.',
} as const;
