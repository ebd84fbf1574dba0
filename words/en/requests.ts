/** What a request asks, in one sentence: in notifications, in the tray’s menu, in the windows and on cards. */
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
} as const;
