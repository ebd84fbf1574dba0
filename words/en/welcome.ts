/** The first run, and connecting the apps on this computer. */
export const welcome = {
  welcome: {
    title: 'Welcome to Keyturn',
    lead: 'You sign in once per server. Keyturn keeps the tokens in the keychain and gives short-lived ones to the apps that you allow. You see and revoke everything here.',
    clients: 'Connect the apps on this computer',
    server: 'Sign in to a server',
    serverWhat:
      'Enter a server that your apps use. Your browser opens, and you sign in once for all of them.',
    signedIn: 'Signed in.',
    login: 'Be ready when an app asks',
    loginWhat: 'You can change it in Settings.',
    programOwn:
      'An app that uses keyturn/client connects by itself: it shows six digits, and a card here shows the same.',
    done: 'Show my servers',
  },

  setup: {
    title: 'Connect the apps on this computer',
    lead: 'Apps that sign in by themselves, or keep a key in a plain file, can leave both to Keyturn: their entry then starts Keyturn’s bridge, and the key moves into the vault. Nothing changes until you press a button here, and you can undo all of it.',
    open: 'Connect apps',
    looking: 'Looking for apps…',
    none: 'No app on this computer has an entry that Keyturn could take over.',
    noCommand:
      'An entry needs the keyturn command, which is not installed and doesn’t come with this app. With Node.js 22.19 or newer, in a clone of Keyturn, run in a terminal:',
    install: 'npm run setup && npm install --global .',
    change: 'Show the change',
    exposed:
      'The secret in {header} is in plain text. Keyturn removes it from this file; create a new one at the server afterwards.',
    exposedLeft: 'The secret in {header} is in plain text.',
    already: 'uses Keyturn already',
    left: 'stays as it is:',
    /** Of a file, or after `left`. */
    leftBecause: {
      unusable: 'This file can’t be read or changed.',
      notUnderstood: 'Keyturn can’t follow what is written in this file.',
      versioned: 'This file belongs to a project under version control.',
      form: 'it is written in a form that Keyturn doesn’t change.',
      ownSignIn: 'it says itself how it signs in.',
      servers: 'it names no server, or several.',
      arguments: 'it has an argument that Keyturn doesn’t know.',
      headersElsewhere: 'its headers are in another file.',
      url: 'its address is neither https nor on this computer.',
      urlSecret: 'its address contains a secret, which belongs in a header.',
      variable: 'a header takes its secret from a variable.',
      secrets: 'it has several secrets; Keyturn keeps one for each server.',
      noKey: 'its secret is not an API key that Keyturn can keep.',
      changed: 'the file has changed in the meantime. Look again.',
      otherKey: 'another entry has another key for this server.',
      keyThere: 'the vault already has an API key for this server. Remove that one first to use this one.',
      keyFailed: 'its key could not be moved into the vault.',
    },
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
    undo: 'Undo all changes',
    undoTitle: 'Undo all changes?',
    undoWhat:
      'The entries become what they were before. What you changed in those files since then stays as it is.',
    undone: 'The changes were undone.',
    undoOutcomes: {
      restored: 'as it was, byte for byte.',
      unchanged: 'had no entry of Keyturn’s.',
      gone: 'no longer exists.',
      unreadable: 'Keyturn can’t follow what is written in it, so it stays as it is.',
      changing: 'changed meanwhile. Try again.',
      entries: 'was changed since: only the entries that are still Keyturn’s were restored.',
    },
    keyStays: 'The API key for {server} stays in the vault, and may stand in the file again.',
  },
} as const;
