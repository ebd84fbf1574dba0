/** What several views say: buttons, notices, states, permissions, counts; what is around the views; the overview. */
export const common = {
  appName: 'Keyturn',
  bridgeUnavailable: 'Keyturn did not answer. Close this window and open it again.',
  close: 'Close',
  undo: 'Undo',
  cancel: 'Cancel',
  save: 'Save',
  reload: 'Try again',
  showMore: 'Show more',
  stale: 'This may be out of date: Keyturn could not load it again.',
  loading: 'Loading…',
  rule: 'Rule',
  never: 'never',
  noMatch: 'Nothing matches the filter.',
  copy: 'Copy',
  copied: 'Copied',
  copyOf: 'Copy: {what}',
  copiedOf: 'Copied: {what}',
  notCopied: 'Not copied. The text is selected: copy it with the keyboard.',
  retryIn: 'Try again {time}.',

  state: {
    active: 'Signed in',
    noNewToken: 'Can’t renew',
    refreshing: 'Renewing',
    signInRequired: 'Sign-in required',
    revoked: 'Revoked',
  } as Readonly<Record<string, string | undefined>>,

  scopes: {
    openid: 'know who you are',
    profile: 'see your name and picture',
    email: 'see your e-mail address',
    address: 'see your postal address',
    phone: 'see your telephone number',
    offline_access: 'keep access while you are away',
  } as Readonly<Record<string, string | undefined>>,

  /** Verbs that servers put before or after what a scope is about. */
  scopeVerbs: {
    read: 'read {what}',
    view: 'see {what}',
    list: 'list {what}',
    write: 'change {what}',
    edit: 'change {what}',
    update: 'change {what}',
    create: 'create {what}',
    send: 'send {what}',
    delete: 'delete {what}',
    manage: 'manage {what}',
    admin: 'administer {what}',
  } as Readonly<Record<string, `${string}{what}${string}` | undefined>>,

  counts: {
    handedOut: '{count, plural, one {# token or API key issued} other {# tokens and API keys issued}}',
    refused: '{count, plural, one {# request refused} other {# requests refused}}',
    refreshed: '{count, plural, one {# renewal} other {# renewals}}',
    failed: '{count, plural, one {# renewal failed} other {# renewals failed}}',
    servers: '{count, plural, one {# server} other {# servers}}',
    apps: '{count, plural, one {# app} other {# apps}}',
  },

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

  /** Why a vault needs the user, above every view. */
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
