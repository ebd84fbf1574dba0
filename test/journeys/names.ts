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
  icon: { fine: 'fine', waiting: 'waiting', signedOut: 'signedOut', locked: 'locked' },
  /** Parts of the notifications' sentences. */
  notice: { pairing: 'wants to be paired', asking: 'asks for', signedOut: 'needs you to sign in again' },
  tabs: { servers: 'Servers', programs: 'Programs', activity: 'Activity', settings: 'Settings' },
  welcome: {
    title: 'Welcome to Keyturn',
    startAtLogin: 'Start when I log in',
    done: 'Show my servers',
  },
  card: {
    allow: 'Allow',
    pair: 'Pair',
    deny: 'Deny',
    later: 'Not now',
    hour: '1 hour',
    session: 'This session',
    untilRevoked: 'Until revoked',
    over: 'Nothing waits for you.',
    openPage: 'Open the page',
  },
  servers: {
    add: 'Sign in at a server',
    address: 'Address of the protected server',
    signIn: 'Sign in',
    signInAgain: /^Sign in again/,
    revoke: /^Revoke the grant for/,
    /** Of a grant that has ended here and whose issuer doesn't know yet. */
    tellAgain: /^(Revoke the grant for|Tell the issuer now…)/,
    confirm: 'Revoke',
    done: 'Done',
    confirmed: 'The issuer confirmed that it ended the tokens.',
    pending: /issuer could not be (reached|told)/,
    signedIn: 'Signed in',
    signInNeeded: 'Sign-in needed',
    ended: 'Ended',
  },
  programs: {
    undo: /^Undo denial/,
    end: /^End what/,
    denied: 'Denied',
    nothing: 'Nothing: it has no permission.',
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
