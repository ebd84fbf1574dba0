/** The first run, and connecting the apps on this computer. */
export const welcome = {
  welcome: {
    title: 'Welcome to Keyturn',
    lead: 'Keyturn signs in once per server, keeps the tokens in the keychain, and hands short-lived ones to the apps that you allow. You see and revoke everything here.',
    clients: 'Connect the apps on this computer',
    server: 'Sign in to a server',
    serverWhat: 'Name a server that your apps use. Your browser opens, and you sign in once for all of them.',
    signedIn: 'Signed in.',
    login: 'Be ready when an app asks',
    loginWhat: 'You can change it in Settings.',
    programOwn:
      'An app that uses keyturn/client connects by itself: it shows six digits, and a card here shows the same.',
    done: 'Show my servers',
  },

  setup: {
    title: 'Connect the apps on this computer',
    lead: 'Apps that sign in by themselves, or keep a key in a plain file, can leave both to Keyturn: their entry then starts Keyturn’s bridge, and a key moves into the vault. Nothing changes before you press a button here, and all of it can be put back.',
    open: 'Connect apps',
    looking: 'Looking for apps…',
    none: 'No app on this computer has an entry that Keyturn could take over.',
    noCommand:
      'An entry starts the keyturn command, and it isn’t installed: the app brings none along. With Node.js 22.19 or newer, in a clone of Keyturn, run in a terminal:',
    install: 'npm run setup && npm install --global .',
    change: 'Show the change',
    exposed:
      'The secret in {header} stands in the open. It leaves this file; make a new one at the server afterwards.',
    exposedLeft: 'The secret in {header} stands in the open.',
    already: 'uses Keyturn already',
    left: 'stays as it is:',
    connect: '{count, plural, one {Connect # entry} other {Connect # entries}}',
    connecting: 'Connecting…',
    again: 'Look again',
    changed: 'The files were changed.',
    resultTitle: 'What was done',
    restart: 'Restart these apps. Each asks here for its access at its first start.',
    switched: 'starts Keyturn’s bridge now.',
    secret: {
      vault: 'The secret in {header} is in the vault now.',
      sealed: 'The secret in {header} is in the sealed backup only, since the server offers a sign-in.',
    },
    undo: 'Put everything back',
    undoTitle: 'Put back what was changed?',
    undoWhat:
      'The entries say again what they said before. What you changed in those files since then stays as it is.',
    undone: 'The entries were put back.',
    undoOutcomes: {
      restored: 'as it was, byte for byte.',
      unchanged: 'had nothing of ours.',
      gone: 'is gone, and stays so.',
      unreadable: 'Keyturn can’t follow what is written in it, so it stays as it is.',
      changing: 'changed meanwhile. Try again.',
      entries: 'it was changed since, so only the entries that still are ours went back.',
    },
    keyStays: 'The API key for {server} stays in the vault, and may stand in the file again.',
  },
} as const;
