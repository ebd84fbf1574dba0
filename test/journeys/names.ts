/** What the journeys press and read, by the names that a person, or a screen reader, finds there. */
export const names = {
  /** Rows of the tray's menu. */
  menu: {
    open: 'Open Keyturn',
    lock: 'Lock',
    unlock: 'Unlock',
    quit: 'Quit',
    signIn: 'Sign in to',
    signInAgain: 'Sign in again',
  },
  /** Pictures of the tray. */
  icon: { fine: 'fine', waiting: 'waiting', signedOut: 'trouble', locked: 'held' },
  /** Parts of the notifications' sentences. */
  notice: {
    pairing: 'wants to connect',
    asking: 'wants access',
    address: 'asks you to open a page',
    signedOut: 'needs you to sign in again',
  },
  tabs: { servers: 'Servers', programs: 'Connected apps', activity: 'Activity', settings: 'Settings' },
  welcome: {
    title: 'Welcome to Keyturn',
    startAtLogin: 'Start when I log in',
    done: 'Show my servers',
  },
  card: {
    allow: 'Allow',
    pair: 'Connect',
    deny: 'Always deny',
    undo: 'Undo',
    later: 'Not now',
    hour: '1 hour',
    session: 'This session',
    untilRevoked: 'Until revoked',
    over: 'Nothing waits for you.',
    openPage: 'Open the page',
    openAddress: 'Open',
    dontOpen: 'Don’t open',
  },
  servers: {
    add: 'Add server',
    address: 'Server address',
    signIn: 'Sign in',
    signInAgain: /^Sign in again/,
    revoke: /^Revoke access to/,
    /** Of a grant that has ended here and whose issuer doesn't know yet. */
    tellAgain: /^(Revoke access to|Retry revocation…)/,
    confirm: 'Revoke access',
    done: 'Done',
    confirmed: 'The sign-in provider confirmed that it revoked the tokens.',
    pending: /(issuer|sign-in provider) could not be (reached|told)/,
    signedIn: 'Signed in',
    signInNeeded: 'Sign-in needed',
    ended: 'Access revoked',
  },
  programs: {
    undo: /^Undo denial/,
    end: /^Revoke access of/,
    denied: 'Denied',
    nothing: 'Nothing: it has no access.',
  },
  filter: 'Filter',
  showMore: 'Show more',
  settings: {
    lock: 'Lock now',
    unlock: 'Unlock',
    passphrase: 'Passphrase',
    choose: 'Choose a passphrase',
    repeat: 'The same again',
    differs: 'The two are not the same.',
  },
} as const;
