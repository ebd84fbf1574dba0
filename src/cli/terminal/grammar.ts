/**
 * The command line's grammar: every command with its operands and flags, for the completion scripts.
 *
 * Invariant: says what the commands' own help texts say, summary for summary; test/docs holds the two
 * against each other. Texts are plain words, so that they stand in any shell's quotes.
 */

export interface Flag {
  /** Long name without dashes. */
  readonly name: string;
  readonly summary: string;
  /** What the value is called in the help; absent: the flag takes none. */
  readonly value?: string;
  /** The values there are, where they can be listed. */
  readonly values?: readonly string[];
}

export interface Operand {
  readonly name: string;
  readonly values?: readonly string[];
}

export interface CommandGrammar {
  readonly name: string;
  readonly summary: string;
  readonly operands: readonly Operand[];
  readonly flags: readonly Flag[];
}

/** Shells that a completion script can be had for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

const json = (summary: string): Flag => ({ name: 'json', summary });

const resource: Operand = { name: 'RESOURCE' };
const client: Operand = { name: 'CLIENT' };

/** In the order of `keyturn --help`. Every command takes `--help` besides. */
export const grammar: readonly CommandGrammar[] = [
  {
    name: 'token',
    summary: 'print an access token',
    operands: [resource],
    flags: [
      { name: 'scope', value: '"A B"', summary: 'scopes the token must carry' },
      { name: 'account', value: 'ACCOUNT', summary: 'which account, where you have several' },
      { name: 'min-validity', value: 'SECONDS', summary: 'the token must live at least this long' },
      {
        name: 'status',
        value: '401|403',
        values: ['401', '403'],
        summary: 'the protected server answered this to the last token',
      },
      { name: 'challenge', value: 'TEXT', summary: 'the WWW-Authenticate header of that answer' },
      { name: 'rejected-stdin', summary: 'read the refused token from standard input' },
      { name: 'no-interaction', summary: 'never ask, never open a browser' },
      { name: 'timeout', value: 'SECONDS', summary: 'how long to wait for you' },
      json('print the whole answer'),
    ],
  },
  {
    name: 'login',
    summary: 'sign in at a protected server',
    operands: [resource],
    flags: [
      { name: 'scope', value: '"A B"', summary: 'ask for these scopes besides those the server names' },
      { name: 'account', value: 'LABEL', summary: 'your name for this account, where you have several' },
      {
        name: 'issuer',
        value: 'ISSUER',
        summary: 'which authorization server, where the server names several',
      },
      { name: 'device', summary: 'sign in on another device, with a code (RFC 8628)' },
      {
        name: 'paste',
        summary: 'sign in elsewhere, and paste the address it ended at',
      },
      { name: 'new-client', summary: 'register Keyturn anew there' },
      { name: 'timeout', value: 'SECONDS', summary: 'how long to wait for you' },
      json('print the grant'),
    ],
  },
  {
    name: 'list',
    summary: 'the grants: where you are signed in',
    operands: [],
    flags: [json('print the grants as JSON')],
  },
  {
    name: 'explain',
    summary: 'what became of a grant, and what happens next',
    operands: [{ name: 'RESOURCE|GRANT' }],
    flags: [
      { name: 'account', value: 'ACCOUNT', summary: "only this account's grant" },
      json('print it as JSON'),
    ],
  },
  {
    name: 'revoke',
    summary: 'end a grant, here and at its issuer',
    operands: [{ name: 'RESOURCE|GRANT' }],
    flags: [
      { name: 'account', value: 'ACCOUNT', summary: "only this account's grant" },
      json('print the receipts as JSON'),
    ],
  },
  {
    name: 'allow',
    summary: 'let a program have tokens (the command line is "cli")',
    operands: [client, resource],
    flags: [
      { name: 'scope', value: '"A B"', summary: 'exactly these scopes' },
      {
        name: 'account',
        value: 'ACCOUNT',
        summary: 'as this account too, where you have several there',
      },
      { name: 'for', value: 'TIME', summary: 'for so long: 90s, 30m, 8h, 2d' },
    ],
  },
  {
    name: 'deny',
    summary: 'refuse a program, and remember it',
    operands: [client, resource],
    flags: [],
  },
  {
    name: 'end',
    summary: 'end a permission, or a denial; tells no server',
    operands: [client, resource],
    flags: [],
  },
  {
    name: 'clients',
    summary: 'the paired programs and what they may reach',
    operands: [],
    flags: [json('print them as JSON')],
  },
  {
    name: 'unpair',
    summary: 'forget a program, its key and its permissions',
    operands: [client],
    flags: [],
  },
  {
    name: 'pending',
    summary: 'questions that wait for you',
    operands: [],
    flags: [json('print them as JSON')],
  },
  {
    name: 'answer',
    summary: 'answer one',
    operands: [{ name: 'ID' }, { name: 'yes|no|later', values: ['yes', 'no', 'later'] }],
    flags: [
      { name: 'once', summary: "for one token of the program's run that asked" },
      { name: 'this-run', summary: "for the program's run that asked: ends with its connection" },
      { name: 'for', value: 'TIME', summary: 'for so long: 90s, 30m, 8h, 2d' },
      { name: 'scope', value: '"A B"', summary: 'exactly these scopes in place of those in the question' },
    ],
  },
  {
    name: 'register',
    summary: 'enter client information you obtained at an issuer',
    operands: [{ name: 'ISSUER' }],
    flags: [
      { name: 'client-id', value: 'ID', summary: 'the client id' },
      { name: 'client-secret-stdin', summary: 'read the client secret from standard input' },
      { name: 'private-key', value: 'FILE', summary: 'the private key, PEM or JWK, for private_key_jwt' },
      {
        name: 'alg',
        value: 'ALG',
        values: ['ES256', 'RS256', 'PS256', 'EdDSA'],
        summary: 'what the key signs with',
      },
      {
        name: 'auth-method',
        value: 'METHOD',
        values: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
        summary: 'how the client authenticates',
      },
      { name: 'redirect-uri', value: 'URI', summary: 'the redirect URI as registered' },
      {
        name: 'grant',
        value: 'GRANT',
        values: ['authorization_code', 'client_credentials', 'id-jag'],
        summary: 'how tokens are obtained',
      },
      { name: 'idp', value: 'ISSUER', summary: "for id-jag: the company's identity provider" },
      { name: 'idp-client-id', value: 'ID', summary: 'for id-jag: the client id there' },
      { name: 'id-token-file', value: 'FILE', summary: 'for id-jag: where the ID token lies' },
      { name: 'list', summary: 'show the clients there are' },
      { name: 'json', summary: 'print the list as JSON' },
      { name: 'remove', summary: 'remove a client' },
    ],
  },
  {
    name: 'override',
    summary: 'waive one rule for one server that errs',
    operands: [
      { name: 'SERVER' },
      {
        name: 'RULE',
        values: ['issuer-mismatch', 'no-resource', 'no-pkce-metadata', 'audience', 'private-address'],
      },
      { name: 'on|off', values: ['on', 'off'] },
    ],
    flags: [],
  },
  {
    name: 'client-metadata',
    summary: 'the client ID metadata document to host at a URL',
    operands: [{ name: 'URL' }],
    flags: [],
  },
  {
    name: 'audit',
    summary: 'who got what when, and whether the log is whole',
    operands: [{ name: 'tail|verify|export', values: ['tail', 'verify', 'export'] }],
    flags: [
      { name: 'lines', value: 'N', summary: 'how many rows tail shows' },
      { name: 'format', value: 'FORMAT', values: ['jsonl', 'csv'], summary: 'what export writes' },
      json("print tail's rows, or verify's findings, as JSON"),
    ],
  },
  {
    name: 'lock',
    summary: 'lock the vault until you unlock it',
    operands: [],
    flags: [],
  },
  {
    name: 'unlock',
    summary: 'open the vault',
    operands: [],
    flags: [{ name: 'passphrase-stdin', summary: 'read the passphrase from standard input' }],
  },
  {
    name: 'passphrase',
    summary: 'change the passphrase of a sealed-file vault',
    operands: [],
    flags: [
      {
        name: 'passphrase-stdin',
        summary: 'read two lines: the passphrase as it is, and the new one',
      },
    ],
  },
  {
    name: 'status',
    summary: 'the broker: what runs, and with which settings',
    operands: [],
    flags: [json('print it as JSON')],
  },
  {
    name: 'settings',
    summary: 'show the settings, or change one',
    operands: [],
    flags: [
      { name: 'unset', value: 'NAME', summary: 'back to what it is unless set' },
      json('print them as JSON'),
    ],
  },
  {
    name: 'daemon',
    summary: 'run the broker in this terminal, stop or restart it',
    operands: [],
    flags: [
      { name: 'stop', summary: 'stop the broker of this home' },
      { name: 'replace', summary: 'stop the one that runs, and run one in this terminal' },
      { name: 'restart', summary: 'stop the one that runs, and start one in the background' },
    ],
  },
  {
    name: 'reset',
    summary: 'end this home: revoke everything, remove everything',
    operands: [],
    flags: [{ name: 'yes', summary: "don't ask" }, json('print what is left as JSON')],
  },
  {
    name: 'completion',
    summary: 'a completion script for bash, zsh or fish',
    operands: [{ name: 'SHELL', values: shells }],
    flags: [],
  },
];

/** What every command takes. */
export const helpFlag: Flag = { name: 'help', summary: 'show this' };

/** Flags in place of a command. */
export const topFlags: readonly Flag[] = [helpFlag, { name: 'version', summary: 'show the version' }];
