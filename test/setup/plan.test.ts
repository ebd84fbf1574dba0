/** Which entries of a client's file change, to what, and what stays. */
import { describe, expect, it } from 'vitest';
import { findingsIn } from '../../src/setup/plan.ts';
import { endpoint, entered, fileOf, own, read } from './cursor.ts';

const secret = 'aSecretThatStoodInTheOpen-2718';

/** The lines of Cursor's file that a switch shows. */
const shownOf = (text: string): string[] =>
  read('cursor', text).findings.flatMap((found) => (found.kind === 'switch' ? found.shown : []));

const bridge = (as: string): unknown => ({
  command: '/bin/node',
  args: ['/lib/keyturn.js', 'bridge', endpoint, '--as', as],
});

/** The member that holds a server's URL, by client: what each documents. */
const remote: readonly (readonly [string, string, object])[] = [
  ['claude-code', 'mcpServers', { type: 'http', url: endpoint }],
  ['claude-desktop', 'mcpServers', { url: endpoint }],
  ['cursor', 'mcpServers', { url: endpoint }],
  ['vs-code', 'servers', { type: 'http', url: endpoint }],
  ['gemini', 'mcpServers', { httpUrl: endpoint }],
  ['gemini', 'mcpServers', { type: 'http', url: endpoint }],
  ['qwen', 'mcpServers', { httpUrl: endpoint }],
  ['zed', 'context_servers', { url: endpoint }],
  ['windsurf', 'mcpServers', { serverUrl: endpoint }],
  ['cline', 'mcpServers', { type: 'streamableHttp', url: endpoint }],
  ['roo', 'mcpServers', { type: 'streamable-http', url: endpoint }],
  ['copilot', 'mcpServers', { type: 'http', url: endpoint }],
  ['kiro', 'mcpServers', { url: endpoint }],
  ['lm-studio', 'mcpServers', { url: endpoint }],
];

/** Variables that no header of an entry may name. */
const unnamed =
  'NODE_OPTIONS node_options LD_AUDIT DYLD_X KEYTURN_HOME https_proxy ALL_PROXY PATH Path HOME XDG_CONFIG_HOME SSL_CERT_FILE OPENSSL_CONF';

describe('keyturn setup', () => {
  it.each(remote)('lets an entry of %s start the bridge by absolute paths', (client, member, entry) => {
    const { after } = read(client, JSON.stringify({ [member]: { notes: entry } }, undefined, 2));
    const type = 'type' in entry && client !== 'gemini' ? { type: 'stdio' } : {};
    const notes = { ...Object(bridge(`${client}-notes`)), ...type };
    expect(JSON.parse(after)).toEqual({ [member]: { notes } });
    expect(read(client, after).findings).toMatchObject([{ kind: 'bridge', endpoint, as: `${client}-notes` }]);
  });

  it('lets an entry of opencode start the bridge by one list', () => {
    const text = JSON.stringify({ mcp: { notes: { type: 'remote', url: endpoint, enabled: true } } });
    const command = ['/bin/node', '/lib/keyturn.js', 'bridge', endpoint, '--as', 'opencode-notes'];
    const notes = { type: 'local', command, enabled: true };
    expect(JSON.parse(read('opencode', text).after)).toEqual({ mcp: { notes } });
  });

  it('keeps comments, order, tabs and line ends of a JSON file', () => {
    const lines = [
      '// mine',
      '{',
      '\t"other": [1,2],  // odd spacing',
      '\t"mcpServers": {',
      '\t\t"notes": {',
      '\t\t\t// the team’s notes',
      `\t\t\t"url": "${endpoint}", // by Ada`,
      '\t\t\t"disabled": false, /* for now */',
      `\t\t\t"headers": { "X-Team": "blue" } // last`,
      '\t\t},',
      '\t\t"local": { "command": "uvx", "args": ["thing"], },',
      '\t},',
      '}',
      '',
    ];
    const { after } = read('cursor', lines.join('\r\n'));
    const args = `["/lib/keyturn.js", "bridge", "${endpoint}", "--as", "cursor-notes", "--header", "X-Team: blue"]`;
    expect(after.split('\r\n')).toEqual([
      ...lines.slice(0, 6),
      '\t\t\t"command": "/bin/node",',
      `\t\t\t"args": ${args}, // by Ada`,
      '\t\t\t"disabled": false /* for now */ // last',
      ...lines.slice(9),
    ]);
  });

  it.each(['\n', '\r\n'])('keeps comments, other tables and line ends of a TOML file: %j', (end) => {
    const text = [
      'model = "o" # mine',
      'note = """',
      '[mcp_servers.not_one]',
      '"""',
      '[mcp_servers.notes] # team',
      `url = "${endpoint}" # by Ada`,
      'startup_timeout_sec = 30',
      '[mcp_servers.notes.http_headers]',
      `X-Api-Key = "${secret}"`,
      '',
      '[mcp_servers.old]',
      `command = 'npx'`,
      `args = [ "-y", # quietly`,
      `  "mcp-remote@latest", "${endpoint}" ]`,
      '[tui]',
      'theme = "x"',
      '',
    ].join(end);
    const { findings, after } = read('codex', text);
    expect(findings).toMatchObject([
      { kind: 'switch', entry: 'notes', key: { header: 'X-Api-Key', value: secret } },
      { kind: 'switch', entry: 'old' },
    ]);
    const args = (as: string): string =>
      `args = ["/lib/keyturn.js", "bridge", "${endpoint}", "--as", "codex-${as}"]`;
    expect(after.split(end)).toEqual([
      ...text.split(end).slice(0, 5),
      'command = "/bin/node"',
      `${args('notes')} # by Ada`,
      'startup_timeout_sec = 30',
      '',
      '[mcp_servers.old]',
      'command = "/bin/node"',
      'startup_timeout_sec = 30',
      args('old'),
      '[tui]',
      'theme = "x"',
      '',
    ]);
  });

  it.each([
    `mcp_servers = { notes = { url = "${endpoint}", http_headers = { X-Api-Key = "${secret}" } } }`,
    `mcp_servers.notes.url = "${endpoint}"\nmcp_servers.notes.http_headers = { X-Api-Key = "${secret}" }`,
  ])('names an entry of a TOML file that stands in a form it does not change: %#', (text) => {
    const { findings, after } = read('codex', `${text}\n[tui]\ntheme = "x"\n`);
    expect(after).toContain(text);
    const named = { kind: 'left', entry: 'notes', keyPath: ['mcp_servers', 'notes'], exposed: ['X-Api-Key'] };
    expect(findings).toEqual([{ ...named, why: 'its configuration format is not supported' }]);
  });

  it.each([
    ['behind it', '\n', `env = { A = "b" }${' '.repeat(600)}\n`],
    ['behind it, with CRLF', '\r\n', `env = { A = "b" }${' '.repeat(600)}\r\n`],
    ['before its variables', '\n', `${' '.repeat(600)}[mcp_servers.notes.env]\nA = "b"\n`],
  ])('shows all that it writes, whatever blanks stand %s', (_where, end, rest) => {
    const args = `args = ["mcp-remote", "${endpoint}", "--header", "X-Team: \\U00000024{TEAM}"]`;
    const text = ['[mcp_servers.notes]', 'command = "npx"', args, rest].join(end);
    const { findings, after } = read('codex', text);
    const shown = findings.flatMap((found) => (found.kind === 'switch' ? found.shown : []));
    for (const line of after.split(end).filter((one) => !text.includes(one)))
      expect(shown).toContain(`+ ${line}`);
    expect(shown.join('\n')).toContain(
      '- args = ["mcp-remote", "https://notes.example/mcp", "--header", "X-Team: ${TEAM}"]',
    );
  });

  it('takes an mcp-remote entry’s secret from its own variables', () => {
    const sent = ['--header', 'Authorization:${AUTH}', '--header', 'X-Team:${TEAM}'];
    const args = ['-y', 'mcp-remote', endpoint, ...sent, '--transport', 'http-only'];
    const env = { AUTH: `Bearer ${secret}`, TEAM: 'blue', LD_PRELOAD: './evil.so' };
    const text = JSON.stringify({ mcpServers: { notes: { command: 'npx', args, env } } }, undefined, 2);
    const { findings, after } = read('claude-desktop', text);
    expect(findings).toMatchObject([{ key: { header: 'Authorization', scheme: 'Bearer', value: secret } }]);
    const { command, args: before } = Object(bridge('claude-desktop-notes'));
    const left = [...before, '--header', 'X-Team: ${TEAM}', '--transport', 'http-only'];
    const notes = { command, args: left, env: { TEAM: 'blue' } };
    expect(JSON.parse(after)).toEqual({ mcpServers: { notes } });
    const shown = findings.flatMap((found) => (found.kind === 'switch' ? found.shown : [])).join('\n');
    expect(shown).toContain('-         "LD_PRELOAD": "./evil.so"');
    expect(shown).not.toMatch(new RegExp(`${secret}|blue`));
  });

  const connecting = { NODE_EXTRA_CA_CERTS: '/etc/ca.pem', https_proxy: 'http://ada:pw@proxy.example:3128' };
  const remoteWith = (env: object): string =>
    entered({ command: 'npx', args: ['mcp-remote', endpoint], env: { DEBUG: '1', ...env } });

  it('keeps only those variables of an mcp-remote entry that say how it connects', () => {
    const { findings, after } = read('cursor', remoteWith({ ...connecting, No_Proxy: 'localhost' }));
    const env = { ...connecting, No_Proxy: 'localhost' };
    expect(JSON.parse(after)).toEqual({ mcpServers: { notes: { ...Object(bridge('cursor-notes')), env } } });
    expect(read('cursor', after).findings).toMatchObject([{ kind: 'bridge', as: 'cursor-notes' }]);
    const shown = findings.flatMap((found) => (found.kind === 'switch' ? found.shown : [])).join('\n');
    expect(shown).toContain('"http://***@proxy.example:3128"');
    expect(shown).not.toContain('ada:pw');
  });

  it.each([
    ['HTTPS_PROXY', `ada:${secret}@proxy.example:3128`, '***'],
    ['https_proxy', `${secret}@proxy.example:3128`, '***'],
    ['ALL_PROXY', `http://${secret}@proxy.example:3128`, 'http://***@proxy.example:3128'],
    // It is dropped, and shown among the lines that go.
    ['FTP_PROXY', `ada:${secret}@proxy.example:3128`, '***'],
  ])('shows no password and no user of a proxy: %s=%s', (name, value, words) => {
    const shown = shownOf(remoteWith({ [name]: value })).join('\n');
    expect(shown).toContain(`"${name}":"${words}"`);
    expect(shown).not.toContain(secret);
  });

  it('shows the rest of what says how it connects', () => {
    const env = { HTTPS_PROXY: 'proxy.example:3128', NODE_EXTRA_CA_CERTS: '/etc/@a/ca.pem' };
    expect(shownOf(remoteWith(env)).at(-1)).toMatch(/"proxy\.example:3128".*"\/etc\/@a\/ca\.pem"/);
  });

  it.each(Object.entries(connecting))('leaves an entry of a project with the variable %s', (name, value) => {
    const entry = { ...Object(bridge('x')), env: { [name]: value } };
    for (const text of [remoteWith({ [name]: value }), entered(entry)])
      expect(findingsIn(fileOf('cursor', 'project'), text, own)).toMatchObject([
        { kind: 'left', why: expect.stringContaining(name) },
      ]);
  });

  const meaningless: readonly object[] = [
    { env: { NODE_OPTIONS: '--import=./evil.mjs', HTTPS_PROXY: 'http://attacker.example:8080' } },
    { env: { KEYTURN_HOME: '/tmp/x' }, environment: { LD_PRELOAD: './evil.so' } },
    { envFile: './evil.env', cwd: './evil' },
  ];
  it.each(meaningless)('gives no meaning to what means nothing beside a URL: %j', (more) => {
    const { after } = read('cursor', entered({ ...more, url: endpoint, timeout: 5 }));
    const notes = { ...Object(bridge('cursor-notes')), timeout: 5 };
    expect(JSON.parse(after)).toEqual({ mcpServers: { notes } });
  });

  it.each([
    ['KEYTURN_HOME', undefined, 'remove that variable'],
    ['KEYTURN_HOME', '/home/ada/kt', 'set that variable to "/home/ada/kt"'],
    ['KEYTURN_SOCKET', '/run/ada/box.sock', 'set that variable to "/run/ada/box.sock"'],
  ])('says which other broker an entry uses by %s, where this one is %s', (name, here, change) => {
    const [command, ...args] = [...own.words, 'bridge', endpoint, '--as', 'x'];
    const text = entered({ command, args, env: { [name]: '/tmp/trial' } });
    const env: Record<string, string> = here === undefined ? {} : { [name]: here };
    const [finding] = findingsIn(fileOf('cursor'), text, { ...own, env });
    expect(finding).toMatchObject({ kind: 'left', why: expect.stringContaining('"/tmp/trial"') });
    expect(finding).toMatchObject({ why: expect.stringContaining(change) });
  });

  it.each([
    ['./evil', ['bridge', endpoint, '--as', 'x']],
    ['/bin/node', ['./evil.js', 'bridge', endpoint, '--as', 'x']],
  ])('takes an entry for its own only by its command: %s %j', (command, args) => {
    expect(read('cursor', entered({ command, args })).findings).toEqual([]);
  });

  it.each([
    ['cmd', 'C:/', 'npx', '-y', 'mcp-remote'],
    ['cmd.exe', '/C', 'npx.cmd', 'mcp-remote'],
    ['C:\\Program Files\\nodejs\\npx.cmd', '-y', 'mcp-remote'],
    ['/usr/bin/node', '/usr/lib/node_modules/mcp-remote/dist/proxy.js'],
  ])('reads an entry that starts mcp-remote with %s %s', (command, ...words) => {
    const text = entered({ command, args: [...words, endpoint] });
    expect(read('cursor', text).findings).toMatchObject([{ endpoint }]);
  });

  const changed: readonly object[] = [
    { cwd: './evil' },
    { envFile: './evil.env' },
    { env: ['NODE_OPTIONS=x'] },
    { env: { A: 'b' }, environment: { NODE_OPTIONS: 'x' } },
  ];
  it.each(changed)('takes no entry for its own if another member says how it runs: %j', (more) => {
    const notes = { command: 'keyturn', args: ['bridge', endpoint, '--as', 'x'], ...more };
    expect(read('cursor', entered(notes)).findings).toMatchObject([{ kind: 'left' }]);
  });

  it('takes encoded bytes of a URL for no variable', () => {
    const { findings } = read('cursor', entered({ url: 'https://notes.example/caf%C3%A9s%20' }));
    expect(findings).toMatchObject([{ kind: 'switch' }]);
  });

  it('covers no command and no URL, whatever else the entry says', () => {
    const words = ['/bin/node', '/lib/keyturn.js', 'bridge', '--as', endpoint, 'cursor-notes'];
    const more = { env: Object.fromEntries(words.map((word, index) => [`A${index}`, word])), note: endpoint };
    const headers = { 'X-A': '//notes.example/mcp', 'X-B': 'bridge', https: '//notes.example/mcp' };
    const text = JSON.stringify({ mcpServers: { notes: { ...more, headers, url: endpoint } } }, undefined, 2);
    const comes = shownOf(text)
      .filter((line) => line.startsWith('+'))
      .join('\n');
    for (const word of words) expect(comes).toContain(`"${word}"`);
  });

  const info = '--static-oauth-client-info';
  const npx = (...args: readonly string[]): object => ({ command: 'npx', args });
  const left: readonly (readonly [string, object, RegExp])[] = [
    ...['PATH', 'Path', 'NODE_OPTIONS', 'node_path', 'NODE_TLS_REJECT_UNAUTHORIZED'].map(
      (name) =>
        [name, { ...npx('mcp-remote', endpoint), env: { [name]: 'x' } }, RegExp(`"${name}"`)] as const,
    ),
    ...unnamed.split(' ').map((name) => {
      const entry = { ...npx('mcp-remote', endpoint, '--header', `X-A: \${${name}}`), env: { [name]: 'x' } };
      return [`a header that names ${name}`, entry, RegExp(name)] as const;
    }),
    ['a header whose name is an option', { url: endpoint, headers: { '--connect': 'x' } }, /headers/],
    ['a tool like an option', npx('mcp-remote', endpoint, '--ignore-tool', '--as'), /argument/],
    ['a URL beside it', { ...npx('mcp-remote', endpoint), url: 'https://b.example' }, /URL and a command/],
    ['a secret in a variable', { url: endpoint, headers: { Authorization: 'Bearer ${T}' } }, /variable/],
    ['a secret in the URL', { url: `${endpoint}?api_key=${secret}` }, /URL contains a secret/],
    ['a URL and a command', { url: endpoint, command: { path: './evil' }, args: [5] }, /command/],
    ['a variable of Windows', { url: endpoint, headers: { Authorization: 'Bearer %TOK%' } }, /variable/],
    ['a URL from a variable', { url: '${NOTES_URL:-https://notes.example}/mcp' }, /URL has a variable/],
    [
      'a URL with an escaped variable',
      { url: 'https://%24%7Btok%7D.notes.example/mcp' },
      /URL has a variable/,
    ],
    ['a variable that isn’t shown', npx('mcp-remote', endpoint, '--header', 'X-A: {env:B}'), /in a form/],
    ['a sign-in of its own', { url: endpoint, oauth: { clientId: 'x' } }, /signs in/],
    ['a resource for its sign-in', { url: endpoint, oauth_resource: endpoint }, /"oauth_resource"/],
    ['scopes of Kiro', { url: endpoint, oauthScopes: ['x'] }, /"oauthScopes"/],
    ['a helper of Codex', { url: endpoint, http_headers_helper: 'x' }, /"http_headers_helper"/],
    ['http to another machine', { url: 'http://notes.example/mcp' }, /plain http/],
    ['no server’s URL', { url: `${endpoint}#part`, headers: { 'X-Api-Key': secret } }, /fragment/],
    ['a client secret', npx('mcp-remote', endpoint, info, `{"x":"${secret}"}`), /takes no/],
  ];
  it.each(left)('leaves an entry with %s as it is, and says why without the secret', (_what, entry, why) => {
    const text = entered(entry);
    const { findings, after } = read('cursor', text);
    expect(after).toBe(text);
    expect(findings).toMatchObject([{ kind: 'left', why: expect.stringMatching(why) }]);
    expect(JSON.stringify(findings)).not.toContain(secret);
  });

  const token = `Bearer ${secret}`;
  const bearer = `Authorization: ${token}`;
  const exposing: readonly (readonly [object, readonly string[]])[] = [
    [{ url: endpoint, oauth: { clientId: 'x', clientSecret: secret } }, ['clientSecret']],
    [{ url: endpoint, scopes: ['x'], http_headers: { Authorization: token } }, ['Authorization']],
    [{ url: 'http://192.168.1.5/mcp', headers: { Cookie: secret } }, ['Cookie']],
    [{ url: endpoint, bearer_token: secret }, ['bearer_token']],
    [{ url: `${endpoint}?token=${secret}` }, ['URL']],
    [{ url: endpoint, headers: { Authorization: 'Bearer ${T}', 'X-Key': secret } }, ['X-Key']],
    [npx('-p', 'mcp-remote', 'mcp-remote', endpoint, '--header', bearer), ['Authorization']],
    [npx('mcp-remote', endpoint, info, `{"client_secret":"${secret}"}`), ['client_secret']],
    [{ ...npx('-p', 'x', 'mcp-remote', endpoint, '--header', 'A:${B}'), env: { B: token } }, ['B']],
    [{ command: 'mcp-proxy', args: ['--headers', 'X-Token', secret, endpoint] }, ['X-Token']],
    [{ command: 'bridge', args: [`${endpoint}?api_key=${secret}`] }, ['URL']],
    [{ command: 'bridge', args: ['--api-key', secret, '--server', endpoint] }, ['api-key']],
    [{ command: { path: 'npx', args: ['mcp-remote', endpoint, '--header', bearer] } }, ['Authorization']],
    [{ transport: { type: 'http', url: endpoint, headers: { 'X-Key': secret } } }, ['X-Key']],
  ];
  it.each(exposing)('names the secrets in plain text of an entry that it leaves: %j', (entry, exposed) => {
    expect(read('cursor', entered(entry)).findings).toMatchObject([{ kind: 'left', exposed }]);
  });

  it('takes an entry of opencode whose key stands beside `oauth: false`', () => {
    const headers = { 'X-Api-Key': secret };
    const entry = { type: 'remote', url: endpoint, oauth: false, headers, enabled: true };
    const { findings, after } = read('opencode', JSON.stringify({ mcp: { notes: entry } }));
    expect(findings).toMatchObject([{ kind: 'switch', key: { header: 'X-Api-Key' } }]);
    expect(after).not.toContain('oauth');
  });

  it.each([
    ['in front of it', '/* it’s */ '],
    ['that begins on the line before', '/*\n# */ '],
    ['that ends with a lone CR', '// it’s\r'],
  ])('covers nothing of what comes behind a comment %s', (_where, comment) => {
    const headers = `{"X-Team": "blue"}`;
    const text = `{"mcpServers": {"notes": {${comment}"url": "${endpoint}", "headers": ${headers} // ${secret}\n}}}`;
    const shown = shownOf(text).join('\n');
    expect(shown).toContain(`"url": "${endpoint}"`);
    expect(shown).toContain(`"bridge", "${endpoint}", "--as", "cursor-notes", "--header", "X-Team: ***"]`);
    expect(shown).not.toMatch(new RegExp(`${secret}|blue`));
  });

  it.each(['blue', 'https://blue:'])('shows which variable goes to the server behind %s', (text) => {
    const header = `X-Team: ${text}\${AWS_SECRET_ACCESS_KEY}@a`;
    const shown = shownOf(entered({ command: 'npx', args: ['mcp-remote', endpoint, '--header', header] }));
    expect(shown.at(-1)).toMatch(/"X-Team: [^b]*\*\*\*\$\{AWS_SECRET_ACCESS_KEY\}[^b]*"/);
  });

  it.each([
    ['cursor', `{"mcpServers": {"a": {"url": "${endpoint}"}, "a": {"url": "${endpoint}/2"}}}`],
    ['codex', `[mcp_servers.a]\nurl = "${endpoint}"\n[mcp_servers.a]\nurl = "${endpoint}/2"\n`],
    ['codex', `[mcp_servers.a]\nurl = "${endpoint}"\nurl = "${endpoint}/2"\n`],
    [
      'codex',
      `[mcp_servers.a]\nurl = "${endpoint}"\nhttp_headers = { A = "b" }\n[mcp_servers.a.http_headers]\nA = "c"\n`,
    ],
  ])('leaves what is there twice in the file of %s: %s', (client, text) => {
    const { findings, after } = read(client, text);
    expect(findings.every(({ kind }) => kind === 'left')).toBe(true);
    expect(after).toBe(text);
  });

  it('looks below each folder of Claude Code’s entries, and marks their names', () => {
    const servers = { mcpServers: { notes: { type: 'http', url: endpoint } } };
    const text = JSON.stringify({ projects: { '/a': servers, '/b': servers } });
    const names = read('claude-code', text).findings.map((one) => (one.kind === 'switch' ? one.as : ''));
    const name = expect.stringMatching(/^claude-code-notes-[0-9a-f]{6}$/);
    expect(names).toEqual([name, name]);
    expect(new Set(names).size).toBe(2);
  });

  it.each([
    ['cursor', '{\n  "mcpServers": {\n  } }\n}\n', 'its line 4'],
    ['cursor', '{ "mcpServers":\n\n', 'its line 1'],
    ['codex', 'model = "o"\n[mcp_servers.notes\nurl = "x"\n', 'its line 2'],
  ])('names the line of a file of %s that it can’t read: %j', (client, text, line) => {
    expect(findingsIn(fileOf(client), text, own)).toBe(`Keyturn can’t read ${line}`);
  });
});
