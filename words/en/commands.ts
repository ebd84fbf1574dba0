/** The card of a command that wants to give access or change a setting. */
export const commands = {
  command: {
    descriptions: {
      allow: 'The app then gets this access without asking again. You can revoke it under Connected apps.',
      endDenial: 'The app can then ask you again. Access that you gave it there ends.',
      apiKey:
        'Apps that you allow get this API key, and send it to this server in this header. Allow this only if you set it just now.',
      oauthClient: 'Keyturn then uses this OAuth client at this sign-in provider.',
      signIn:
        'Keyturn then uses the account that signs in on that page. Apps that you allowed there can use it.',
      exception: 'This turns off one protection for this server.',
      proxy:
        'Keyturn opens a port on this computer for apps that can’t connect to Keyturn. It asks you about each app that uses the port.',
      forward:
        'Programs there can then ask for access to these servers. You connect and allow each of them here first. Allow this only if you trust this machine.',
      settings: 'Keyturn then uses the new value.',
      unlock: 'Apps that you allowed get access again.',
      passphrase: 'After that, only the new passphrase unlocks Keyturn.',
      backup:
        'The command can then read your apps’ configuration as it was before Keyturn changed it, with the secrets in it.',
      resume: 'The pause ends. Apps that you allowed get access again.',
      other: 'This window doesn’t know what the command changes.',
    },
    line: 'Command line',
    expected: 'Allow it only if you started this command yourself.',
    by: 'Keyturn can’t tell who started this command.',
    forward: 'Programs on',
    hostKey: 'Host key',
    sandbox: 'None: it is a sandbox on this computer',
    app: 'App',
    registration: 'Client ID',
    newClient: 'Registration',
    registersAnew: 'Keyturn registers again at this server.',
    grantType: 'Sign-in method',
    grantTypes: {
      authorization_code: 'You sign in on a page of the sign-in provider',
      client_credentials: 'Client credentials (no user)',
      'id-jag': 'Your company’s sign-in (enterprise-managed)',
      'jwt-bearer': 'Workload identity (no user)',
    },
    method: 'How',
    methods: {
      browser: 'on a page in your browser',
      paste: 'on a page elsewhere; the command takes its final URL',
      device: 'with a code on another device, which the command shows',
    },
    authMethod: 'Client authentication',
    redirectUri: 'Redirect URI',
    idp: 'Identity provider',
    assertion: 'Proof of identity from',
    unasked: 'This client gets access without your approval.',
    replaces: 'It replaces the current client.',
    replacesKey:
      'It replaces the current API key. Apps that can use that one get this one, if the header stays the same.',
    uncheckedKey:
      'Keyturn does not check whether the server offers a sign-in, which is safer than an API key.',
    allowsKey: 'The app then gets your API key without asking again.',
    key: 'API key in',
    rule: 'Exception',
    setting: 'Setting',
    value: 'New value',
    unset: 'not set (default)',
    until: 'Until',
    anyScope: 'every permission that you approve there, now or later',
    account: 'As the account',
    confirm: 'Allow',
    answered: {
      approve: 'The command was allowed.',
      dismiss: 'The command was not allowed. It can ask again.',
    },
  },
} as const;
