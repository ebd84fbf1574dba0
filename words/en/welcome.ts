/** The first run, and connecting the apps on this computer. */
export const welcome = {
  welcome: {
    title: 'Welcome to Keyturn',
    lead: 'Sign in once per server. Every app that you allow can then use it, and you can revoke its access at any time.',
    clients: 'Connect the apps on this computer',
    server: 'Sign in to a server',
    serverWhat:
      'Enter a server that your apps use. Your browser opens, and you sign in once for all of them.',
    signedIn: 'Signed in.',
    login: 'Start Keyturn at login',
    loginWhat: 'You can change it in Settings.',
    appOwn:
      'An app that uses @keyturn/client connects by itself: it shows six digits, and a card here shows the same.',
    step: 'Step {at} of {of}',
    next: 'Next',
    skip: 'Set up later',
    done: 'Show my servers',
  },

  setup: {
    title: 'Connect the apps on this computer',
    lead: 'Keyturn can sign in for apps that you already use. Nothing changes until you press “Connect”: it changes the ticked entries in each app’s configuration. You can undo it.',
    open: 'Connect apps',
    looking: 'Looking for apps…',
    none: 'No app on this computer has a server that Keyturn can sign in to.',
    noCommand:
      'This needs the keyturn command, which is not installed. With Node.js 22.19 or newer, run this in a clone of Keyturn:',
    install: 'npm run setup && npm install --global .',
    change: 'Show the change',
    exposed:
      'The secret in {header} is in plain text, so others may have read it. “Connect” removes it from this file, and the app then works through Keyturn. Afterwards, replace the secret at the server.',
    exposedLeft: 'The secret in {header} is in plain text.',
    already: 'uses Keyturn already',
    left: 'stays as it is:',
    connect: 'Connect {names}',
    connecting: 'Connecting…',
    again: 'Look again',
    changed: 'The list shows what was changed, and what wasn’t.',
    resultTitle: 'What was done',
    restart: 'Restart these apps. Each asks here for its access at its first start.',
    switched: 'uses Keyturn now.',
    secret: {
      vault: 'Keyturn stores the secret of {header} now.',
      sealed: 'The secret in {header} is in the sealed backup only, since the server offers a sign-in.',
    },
    undo: 'Undo all changes',
    undoTitle: 'Undo all changes?',
    undoWhat:
      'The entries become what they were before. What you changed in those files since then stays as it is.',
    undone: 'The list shows what was undone, and what wasn’t.',
    keyStays: 'The API key for {server} stays in Keyturn, and may be in the file again.',
  },
} as const;
