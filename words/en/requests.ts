/** What a request asks, in one sentence: in notifications, in the tray’s menu and in windows; and the short cards. */
export const requests = {
  questions: {
    account: 'Another account signed in to {server} at {provider}',
    settings: 'Settings were changed outside Keyturn',
    allow: '{who, select, command {The keyturn command} other {{app}}} wants access to {server}',
    allowSeveral:
      '{who, select, command {The keyturn command} other {{app}}} wants access to {count} servers',
    apiKey:
      '{who, select, command {The keyturn command} other {{app}}} wants to use your API key for {server}',
    url: '{server} asks you to open a page at {site}',
    choice:
      'Which account should {who, select, command {the keyturn command} other {{app}}} use at {server}?',
    pair: '{app} wants to connect',
    signIn: 'Sign in to {server} at {provider}',
    signInAs: 'Sign in to {server} at {provider} as {account}',
  },

  /** What a command asks for. */
  commands: {
    apiKey: 'A command wants to set an API key for {server}',
    allow:
      'A command wants to give {who, select, command {the keyturn command} other {{app}}} access to {server}',
    allowKey:
      'A command wants to let {who, select, command {the keyturn command} other {{app}}} use your API key for {server}',
    endDenial:
      'A command wants to undo the denial of {who, select, command {the keyturn command} other {{app}}} at {server}',
    oauthClient: 'A command wants to add an OAuth client for {provider}',
    signIn: 'A command wants to sign in to {server}',
    proxy: 'A command wants to open a proxy for {server}',
    forward: 'A command wants to let programs on {machine} ask for access',
    exception: 'A command wants to add a security exception for {server}',
    settings: 'A command wants to change the setting {setting}',
    backup: 'A command wants to read a backup of your apps’ configuration',
    resume: 'A command wants to resume all access',
    passphrase: 'A command wants to change Keyturn’s passphrase',
    unlock: 'A command wants to unlock Keyturn',
    other: 'A command wants to do something that this window doesn’t know',
  },

  /** The card about a sign-in that came back as another account. */
  otherAccount: {
    title: 'Keep this other account?',
    help: 'If you don’t keep it, Keyturn signs it out again.',
    confirm: 'Keep it',
    refuse: 'Don’t keep it',
    signedIn: 'Signed in now',
    unnamed: 'The server did not say who',
    expected: 'Expected',
    what: 'A different account signed in than expected. If you keep it, Keyturn adds it. Apps continue with their current accounts.',
    answered: {
      approve: 'The account was kept.',
      dismiss: 'The account was not kept.',
    },
  },

  /** The card about which of its accounts an app uses at a server. */
  choice: {
    title: 'Which account should {app} use at {server}?',
    confirm: 'Use this account',
    refuse: 'Not now',
    by: 'This app already has access to this server. Your answer gives it no more.',
    server: 'Server',
    account: 'Account',
    pick: 'Choose an account.',
    what: 'Keyturn remembers your choice for this app and this server.',
    answered: {
      approve: 'Keyturn remembers the account.',
      dismiss: 'No account was chosen. Keyturn asks again at the next request.',
    },
  },

  /** The card about an address that a server wants opened. */
  page: {
    title: 'Open a page at {site}?',
    confirm: 'Open',
    refuse: 'Don’t open',
    host: 'Site',
    address: 'Full address',
    server: 'Requested by',
    by: 'This app uses the server and could not show you the page.',
    message: 'The server says',
    noMessage: 'nothing about it',
    what: 'Keyturn does not know what the page is for. Open it only if you expect it. Check the address in the browser before you type anything.',
    answered: {
      approve: 'The page opens in your browser.',
      dismiss: 'The page was not opened.',
    },
  },
} as const;
