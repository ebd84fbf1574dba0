/** The cards: questions of apps, another account, a page, settings, a sign-in. */
import { notDecided } from './common.ts';

export const cards = {
  card: {
    titleAllow: 'Allow {who, select, command {the keyturn command} other {{app}}} to use {server}?',
    titleSeveral: 'Allow {who, select, command {the keyturn command} other {{app}}} to use {count} servers?',
    titleKey: 'Give {who, select, command {the keyturn command} other {{app}}} your API key for {server}?',
    titlePair: 'Connect this app?',
    who: 'App',
    file: 'File',
    process: 'Process {pid}',
    startedBy: 'started by',
    elsewhere:
      'This app runs on {label}, and its requests come by a forward that you opened. Host key: {key}',
    inSandbox: 'This app runs in the sandbox {label}, and its requests come by a forward that you opened.',
    ownName: 'The app chose this name itself.',
    files: {
      attested: {
        mark: 'path verified',
        what: 'The system confirms that the app runs this file.',
      },
      interpreter: {
        mark: 'interpreter',
        what: 'This file runs scripts. The system doesn’t tell which script it runs.',
      },
      elsewhere: {
        mark: 'another file',
        what: 'The file at this path is not the one that runs: it was replaced since the app started, or the app sees files of its own, as in a container.',
      },
      unreadable: {
        mark: 'unverified',
        what: 'The system doesn’t tell which file runs: the name is only what the app calls itself.',
      },
    },
    claims: 'Claimed by the app, not verified:',
    script: 'Script',
    arguments: 'Arguments',
    folder: 'Folder',
    runsIn: 'Runs in',
    enclosures: { flatpak: 'the Flatpak', snap: 'the Snap', container: 'the container', unit: 'the unit' },
    chosenName: '(any program of yours can choose this name)',
    changeable: {
      you: 'Any program of yours can change this file.',
      group: 'Other users, of a group, can change this file.',
      others: 'Other users can change this file.',
    },
    seenAtPairing: 'seen when it was connected',
    otherFile: 'Another file than when it was connected:',
    proxied: {
      program: 'It uses a proxy: it gets no token, and your answer is for this app only.',
      interpreter:
        'It uses a proxy: it gets no token. Your answer is for every script that this program runs, not only for this one.',
      any: 'This system doesn’t say which app connected to the proxy. Your answer is for any program of yours.',
    },
    cliWarning: 'Any program you run can then get this token with the keyturn command.',
    cliKeyWarning: 'Any program you run can then get this key with the keyturn command.',
    keyAsked: 'It asks for your API key for this server.',
    keyIn: 'Header',
    keyWhat:
      'The app gets the key itself, and a key does not expire. To stop the app later, revoke the key at the server.',
    keyGiven: '{who, select, command {The keyturn command} other {{program}}} may use your API key.',
    server: 'Server',
    issuer: 'Sign-in provider',
    issuerLater: 'Shown when you sign in: Keyturn contacts no server before you allow it',
    account: 'Account',
    currentAccounts: 'Has access as',
    anotherAccount: 'It has access to this server already, and asks for another account there.',
    scopes: 'Permissions',
    scopesNone:
      'No specific permissions requested. The app gets what you grant at the first sign-in, and no more later.',
    newScope: 'new',
    more: 'It has access to this server already and asks for more.',
    changed: 'This request has changed since the card opened. Read it again before you decide.',
    howLong: 'For how long',
    leases: {
      once: 'Once',
      hour: '1 hour',
      run: 'This session',
      untilRevoked: 'Until revoked',
      asBefore: 'As before',
    },
    leaseHints: {
      once: 'For one token. The next request asks you again.',
      hour: 'Then the app has to ask again.',
      run: 'Until the app ends.',
      runOf: 'Until the app ends (process {pid}).',
      untilRevoked: 'Until you revoke it under Connected apps.',
      asBefore: 'As long as what you allowed before, and no longer.',
    },
    asked: 'Requested',
    expires: 'expires',
    guesses: 'Words in italics are guessed from the name; the server decides what it means.',
    noneKept: 'Tick at least one permission, or choose “Not now”.',
    noServerKept: 'Tick at least one server, or choose “Not now”.',
    until: 'Until {time}.',
    position: 'Request {at} of {of}',
    deny: 'Deny',
    denyAlways: 'Always deny',
    unseenScopes: 'Scroll through all permissions before you allow this.',
    allow: 'Allow',
    pair: 'Connect',
    later: 'Not now',
    help: 'Enter means “Not now”. “Always deny” blocks future requests, too. Allow with a click or the space bar.',
    helpSeveral:
      'Enter means “Not now”. The app may ask again for servers without a tick. “Always deny” blocks future requests for all of them, too. Allow with a click or the space bar.',
    helpPair:
      'Enter means “Not now”. Connect with a click or the space bar, only if the digits are the same.',
    digits: 'Check that the app shows these digits',
    allowed: '{who, select, command {The keyturn command} other {{program}}} has access.',
    paired: '{program} is connected.',
    denied: '{program} was denied.',
    deniedAlways:
      'Requests of {who, select, command {the keyturn command} other {{program}}} for this server are denied from now on.',
    deniedAlwaysSeveral:
      'Requests of {who, select, command {the keyturn command} other {{program}}} for these servers are denied from now on.',
    undoneSeveral: '{program} may ask for these servers again.',
    postponed: notDecided,
  },

  /** The card about a sign-in that came back as another account. */
  otherAccount: {
    title: 'Keep another account?',
    help: 'Enter means “Not now”. Keyturn then keeps nothing and revokes the new tokens.',
    confirm: 'Keep it',
    signedIn: 'Signed in now',
    unnamed: 'The server did not say who',
    expected: 'Expected',
    what: 'A different account signed in than expected. If you keep it, Keyturn adds it, and apps go on with the accounts that they use now.',
    answered: {
      yes: 'The account was kept.',
      no: 'The account was not kept.',
      later: 'The account was not kept.',
    },
  },

  /** The card about which of its accounts an app uses at a server. */
  choice: {
    title: 'Which account?',
    titleProject: 'Let this project choose the account?',
    help: 'Enter means “Not now”. Keyturn asks again at the next request.',
    confirm: 'Use it',
    deny: 'Don’t use it',
    by: 'This app already has access to this server. Your answer gives it no more.',
    server: 'Server',
    account: 'Account',
    folder: 'Folder',
    pick: 'Choose an account.',
    what: 'Keyturn remembers your choice for this app and this server. If the app asks for a certain account, it gets that one.',
    whatProject:
      'A file in this folder names the account, and the app says that it runs there. If you agree, every app that may use the account uses it there. If the file names another account, Keyturn asks again.',
    answered: {
      yes: 'Keyturn remembers the account.',
      no: 'The account was not used.',
      later: 'The account was not used.',
    },
  },

  /** The card about an address that a server wants opened. */
  page: {
    title: 'Open this page?',
    help: 'Enter means “Not now” and opens nothing. Open the page with a click or the space bar.',
    confirm: 'Open',
    deny: 'Don’t open',
    host: 'Site',
    address: 'Full address',
    server: 'Requested by',
    by: 'This app uses the server. It could not show you the page itself.',
    message: 'The server says',
    noMessage: 'nothing about it',
    what: 'Keyturn does not know what the page is for. Open it only if you expect it, and check the address in the browser before you type anything there.',
    answered: {
      yes: 'The page opens in your browser.',
      no: 'The page was not opened.',
      later: 'The page was not opened.',
    },
  },

  /** The card about settings that were written outside Keyturn. */
  unconfirmed: {
    title: 'Apply these settings?',
    help: 'Enter means “Not now”. After “Deny” Keyturn shows them in its Settings and does not ask again.',
    what: 'They were written to Keyturn’s settings file, and you have not confirmed them. Until you do, they have no effect.',
    danger:
      'A proxy, a certificate authority or a browser that another program chose could read your sign-ins. Apply only settings that you know.',
    counts: 'In effect now:',
    content: 'The file’s content differs from what you confirmed. It has no effect now.',
    unset: 'not set: the default',
    confirm: 'Apply settings',
    answered: {
      yes: 'The settings apply.',
      no: 'The settings do not apply.',
      later: notDecided,
    },
  },

  signIn: {
    titlePage: 'Sign in on a page in your browser',
    titleDevice: 'Enter this code to sign in',
    server: 'Server',
    issuer: 'Sign-in provider',
    account: 'Requested account',
    former: 'The server named another sign-in provider before:',
    formerWhat: 'Go on only if you expected this change.',
    page: 'Page doesn’t open? Copy this address',
    paste: 'Signed in on another device? Paste the final URL',
    pasteSubmit: 'Use this URL',
    errorPage: 'The page shows an error',
    errorPageTold: 'Keyturn registers at this provider again. Then it opens another page.',
    newClient: 'Keyturn has registered at this provider again. Continue at this page.',
    pasted: 'The URL was accepted.',
    code: 'Code',
    codeHint: 'Enter it only if you started this sign-in yourself.',
    open: 'Open the page',
    opened: 'The page opens in your browser.',
    cancel: 'Cancel sign-in',
    cancelled: 'The sign-in was cancelled.',
  },
} as const;
