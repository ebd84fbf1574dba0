/** The desktop's own words in English: menus, tray, dialogs and notifications. */
export const desktop = {
  tray: {
    fine: 'Keyturn',
    waiting: 'Keyturn: a request waits for you',
    signedOut: 'Keyturn: a server needs a sign-in',
    locked: 'Keyturn: locked',
    vaultFailed: 'Keyturn: the vault can’t be used',
    paused: 'Keyturn: all access is paused',
    offline: 'Keyturn: offline',
  },

  /** A server in the menu. */
  server: '{server}: {state}',
  states: {
    active: 'signed in',
    refreshing: 'signed in',
    expired: 'expired',
    loginRequired: 'signed out',
  } as Readonly<Record<string, string | undefined>>,

  questions: {
    account: 'Another account signed in to {server} at {provider}',
    settings: 'Settings were changed outside Keyturn',
    allow: '{who, select, command {The keyturn command} other {{app}}} wants access to {server}',
    allowSeveral:
      '{who, select, command {The keyturn command} other {{app}}} wants access to {count} servers',
    key: '{who, select, command {The keyturn command} other {{app}}} wants to use your API key for {server}',
    url: '{server} asks you to open a page at {site}',
    choice:
      'Which account should {who, select, command {the keyturn command} other {{app}}} use at {server}?',
    pair: '{app} wants to connect',
    signIn: 'Sign in to {server} at {provider}',
    signInAs: 'Sign in to {server} at {provider} as {account}',
  },

  /** What a command asks for. */
  commands: {
    key: 'A command wants to set an API key for {server}',
    allow:
      'A command wants to give {who, select, command {the keyturn command} other {{app}}} access to {server}',
    allowKey:
      'A command wants to let {who, select, command {the keyturn command} other {{app}}} use your API key for {server}',
    endDenial:
      'A command wants to undo the denial of {who, select, command {the keyturn command} other {{app}}} at {server}',
    register: 'A command wants to add an OAuth client for {provider}',
    login: 'A command wants to sign in to {server}',
    proxy: 'A command wants to add a proxy for {server}',
    forward: 'A command wants to let programs on {machine} ask for tokens',
    override: 'A command wants to add a security exception for {server}',
    settings: 'A command wants to change the setting {setting}',
    backup: 'A command wants to open the backup of a configuration',
    resume: 'A command wants to resume all access',
    passphrase: 'A command wants to change the vault’s passphrase',
    unlock: 'A command wants to unlock the vault',
  },

  /** What happened, after its time. */
  activity: {
    row: '{time}  {what}',
    rowOften: '{time}  {what} ({count, plural, one {# time} other {# times}})',
    token: '{who, select, command {The keyturn command} other {{app}}} got a token for {server}',
    key: '{who, select, command {The keyturn command} other {{app}}} got the API key for {server}',
    refused: '{who, select, command {The keyturn command} other {{app}}} was refused at {server}',
    signedIn: 'You signed in to {server}',
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
  question: 'Keyturn needs your answer',
  signedOut: '{server} needs you to sign in again',
  signedOutTitle: 'Signed out',
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
  held: 'A service keeps Keyturn from starting',
  heldWhat:
    'A systemd service on this computer (keyturn service install --socket) listens in place of the app. If you remove it, the app starts, and serves your apps while it runs. You keep your sign-ins and the access that you gave.',
  removeService: 'Remove the service',
  startFailed: 'Keyturn could not start',
  switches: 'It was started with {switches}, which it does not take. docs/app.md says why.',
  noSandbox:
    'An AppImage adds --no-sandbox if the system forbids user namespaces: install the deb or the rpm instead.',
  faulted: 'Keyturn stopped',
  report: 'Something went wrong inside Keyturn. Please report it.',
} as const;
