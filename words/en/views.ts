/** What is around the views: tabs, search, what waits, the vault’s banner; and the overview. */
export const views = {
  tabs: {
    label: 'Views',
    overview: 'Overview',
    servers: 'Servers',
    apps: 'Connected apps',
    activity: 'Activity',
    settings: 'Settings',
  },

  overview: {
    title: 'Who uses what',
    lead: 'Your connected apps and the servers they have access to.',
    emptyTitle: 'You are not signed in anywhere yet',
    empty: 'Add a server under Servers, or let an app ask for access.',
    hint: 'A thicker line means more use in the last 24 hours.',
    cut: 'These are the apps that were used last. Servers and Connected apps list all of them.',
    notSignedIn: 'not signed in',
  },

  search: {
    button: 'Search',
    title: 'Search',
    label: 'Server, app or setting',
    hint: 'Enter opens the first one; the arrow keys go to the others.',
    nothing: 'Nothing was found.',
    server: 'Server',
    app: 'App',
  },

  waiting: {
    title: 'Waiting for you',
    answer: 'Review…',
    dialog: 'A request for you',
    none: 'Nothing waits for you.',
    noneHint: 'Requests from apps and sign-ins appear here.',
  },

  /** Why a vault needs the person, above every view. */
  vaultBanner: {
    new: 'Keyturn has no passphrase yet. Apps get no access until you choose one.',
    locked: 'Keyturn is locked. Apps get no access until you unlock it.',
    keychainLocked: 'The keychain of this computer is locked. Apps get no access until you unlock it.',
    waiting: 'The keychain is asking you something. Answer its window.',
    absent: 'No keychain was found. Apps get no access.',
    crashed: 'The keychain helper stopped. Apps get no new access.',
    full: 'The keychain is full. Keyturn can’t store new secrets.',
    damaged: 'A stored secret is missing or damaged.',
  } as Readonly<Record<string, string | undefined>>,

  notVerified: 'Not verified yet: the lists are what the file says, until the vault is needed.',

  /** Instead of a keychain. */
  useFile: 'Keep secrets in a file',
  useFileWhat:
    'Or keep secrets in a file that only your passphrase opens. Keyturn starts again and asks you to choose one.',
} as const;
