/** What the journeys press and read, by the names that a person, or a screen reader, finds there. */
export const names = {
  /** Rows of the tray's menu. */
  menu: {
    open: 'Open Keyturn',
    lock: 'Lock',
    unlock: 'Unlock',
    quit: 'Quit',
    signIn: 'Sign in to',
  },
  /** Pictures of the tray. */
  icon: { fine: 'fine', waiting: 'waiting', signedOut: 'trouble', locked: 'held' },
  /** Parts of the notifications' sentences. */
  notice: {
    pairing: 'wants to connect',
    asking: 'wants access',
    signedOut: 'Sign in again to',
  },
  tabs: {
    overview: 'Overview',
    servers: 'Servers',
    programs: 'Connected apps',
    activity: 'Activity',
    settings: 'Settings',
  },
  overview: 'Who uses what',
  welcome: {
    title: 'Welcome to Keyturn',
    clients: 'Connect the apps on this computer',
    startAtLogin: 'Start when I log in',
    next: 'Next',
    skip: 'Set up later',
    done: 'Show my servers',
  },
  card: {
    allow: 'Allow',
    pair: 'Connect',
    untilRevoked: 'Until you revoke it',
  },
  servers: {
    signInAgain: /^Sign in again/,
    revoke: /^Revoke sign-in to/,
    confirm: 'Revoke sign-in',
    done: 'Close',
    confirmed: 'The sign-in provider confirmed that the access has ended.',
    signedIn: 'Signed in',
    signInNeeded: 'Sign-in required',
  },
  programs: {
    manage: /^Manage access of/,
    save: 'Save',
  },
  /** A row about a permission. */
  activity: { access: 'Access', allowed: 'allowed' },
  settings: {
    security: 'Security',
    pause: 'Pause until I resume',
    paused: 'All access is paused. Apps get no access.',
    resume: 'Resume',
    lock: 'Lock now',
    unlock: 'Unlock',
  },
} as const;
