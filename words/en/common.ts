/** What several views say: buttons, notices, states, permissions, counts. */

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
  yes: 'yes',
  never: 'never',
  noMatch: 'Nothing matches the filter.',
  filter: 'Filter',
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
    expired: 'Expired',
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
    rows: '{count, plural, one {# row} other {# rows}}',
    handedOut: '{count, plural, one {# token or API key issued} other {# tokens and API keys issued}}',
    refused: '{count, plural, one {# request refused} other {# requests refused}}',
    refreshed: '{count, plural, one {# renewal} other {# renewals}}',
    failed: '{count, plural, one {# renewal failed} other {# renewals failed}}',
    servers: '{count, plural, one {# server} other {# servers}}',
    apps: '{count, plural, one {# app} other {# apps}}',
    questions: '{count, plural, one {# request} other {# requests}}',
  },
} as const;
