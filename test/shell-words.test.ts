/** Commands that a user may copy: what a server, a file or a program named is one argument there, and no code. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it, vi } from 'vitest';
import { signInsOfAccount } from '../src/broker/consent/sign-in-choice.ts';
import { unknownAccount } from '../src/broker/refusals/account-refusals.ts';
import { consentDenied, consentRequired } from '../src/broker/refusals/permission-refusals.ts';
import { enteredClientStays } from '../src/broker/refusals/refusals.ts';
import { allowApp } from '../src/cli/commands/app/allow.ts';
import { command as login } from '../src/cli/commands/login.ts';
import { addClient } from '../src/cli/commands/oauth-client/add.ts';
import { parse } from '../src/cli/terminal/arguments.ts';
import { watchQuestions } from '../src/cli/waiting/watch.ts';
import { shellOption, shellWord } from '../src/base/errors.ts';
import { ground, refused, stepUp } from './rules/ground.ts';

const hostile = [
  '$(touch x)',
  '`touch x`',
  'a;touch x;',
  "a'; touch x; '",
  'a && touch x | touch x > x &',
  String.raw`a\"$(touch x)\'`,
  String.raw`x\';{touch,x};true\'`,
  '\\',
  "a\\\\'b\\n\\",
  "'",
  `''"'"''`,
  '“a” ‘b’ „c‟',
  '~root/$HOME',
  'é\u0301 日本',
  'a'.repeat(5000),
  '*',
  '-x',
  '--issuer=https://evil.example',
  'a\u00a0b\u3000c',
  '',
];

/** The arguments that a shell gives to `keyturn`, for the text from there to the end of the line. */
function pasted(text: string | undefined, shell = 'sh'): string[] {
  const line = (text ?? '').slice((text ?? '').indexOf('keyturn '));
  const script =
    shell === 'fish'
      ? `set PATH; function keyturn; printf '%s\\0' $argv; end; ${line}`
      : `PATH=; keyturn() { printf '%s\\0' "$@"; }; ${line}`;
  const options = { fish: ['--no-config'], zsh: ['-f'] }[shell] ?? [];
  return execFileSync(shell, [...options, '-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
    .split('\0')
    .slice(0, -1);
}

/** What the command itself reads of the text, as `pasted` into a shell. */
function typed(text: string | undefined, shell?: string): unknown[] {
  const words = pasted(text, shell);
  const command = [allowApp, login, addClient].find(({ statement }) =>
    `${words.join(' ')} `.startsWith(`${statement.name} `),
  );
  if (!command) throw new Error(`no command: ${words.join(' ')}`);
  const { name } = command.statement;
  const { operands, options } = parse(words.slice(name.split(' ').length), command.statement);
  return [name, ...operands, options];
}

describe('a value in a command', () => {
  it.each(['sh', 'dash', 'bash', 'zsh', 'fish'])('is one argument of %s, unchanged', (shell) => {
    expect(pasted(`keyturn ${hostile.map((text) => shellWord(text)).join(' ')}`, shell)).toEqual(hostile);
    const lines = hostile.map((text) => `keyturn login https://a.example ${shellOption('account', text)}`);
    expect(lines.map((line) => typed(line, shell).at(-1))).toEqual(hostile.map((account) => ({ account })));
  });

  it('shows control characters, line breaks and direction overrides as escapes', () => {
    const word = shellWord('a\u001b[31m\r\ntouch x\n\u202e\ud800');
    expect(word).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    expect(pasted(`keyturn ${word}`)).toEqual([String.raw`a\u001b[31m\u000d\u000atouch x\u000a\u202e\ud800`]);
  });

  it('stays as it is where it is an ordinary URL or name', () => {
    expect(shellWord('https://notes.example:8443/mcp/v1')).toBe('https://notes.example:8443/mcp/v1');
    expect(shellOption('account', 'Zoë@notes.example')).toBe('--account "Zoë@notes.example"');
    expect(shellOption('scope', 'read files:write')).toBe('--scope "read files:write"');
    const onWindows = ['a', 'a b&c', 'a%b', 'a"&b', '$(a)', 'a b\\'].map((text) => shellWord(text, 'win32'));
    expect(onWindows).toEqual(['a', '"a b&c"', 'VALUE', 'VALUE', 'VALUE', 'VALUE']);
  });
});

const endpoint = `https://notes.example/mcp?a=$(touch$IFS/tmp/x);'`;

it('a hint holds what a server or a program named as one argument', async () => {
  const { rig } = await ground();
  await rig.login({ scope: ['read'] });
  for (const evil of hostile) {
    const signIn = { ...rig.signIn(), account: evil };
    const denied = consentDenied('editor', endpoint, signIn);
    expect(typed(denied.hint)).toEqual(['app allow', 'editor', endpoint, { account: evil }]);
    const ask = { name: 'editor', endpoint, scope: [evil], signIn: undefined, wasDismissed: false };
    expect(typed(consentRequired(ask).hint)).toEqual(['app allow', 'editor', endpoint, { scope: [evil] }]);
    const addIt = ['login', endpoint, { account: evil }];
    expect(typed(unknownAccount(endpoint, evil, ['work']).hint)).toEqual(addIt);
    const wanted = { appId: 'editor', endpoint, account: evil };
    const nobody = await refused(Promise.try(() => signInsOfAccount(rig.parts.signIns, wanted)));
    expect(typed(nobody.hint)).toEqual(addIt);
    const issuer = `https://login.example/${evil}`;
    const enterIt = ['oauth-client add', issuer, { 'client-id': 'ID' }];
    expect(typed(enteredClientStays(issuer, 'x').hint)).toEqual(enterIt);
  }
});

describe('the real way of a hostile value', () => {
  const evil = '$(touch$IFS/tmp/x)';

  it('leads from a challenge’s scope to one argument', async () => {
    const { rig } = await ground();
    await rig.allow('reader', ['read']);
    await rig.login();
    const { hint } = await refused(rig.ask({ appId: 'reader', ...stepUp(evil), interaction: 'never' }));
    expect(pasted(hint)).toEqual(['app', 'allow', 'reader', rig.endpoint, '--scope', `read ${evil}`]);
  });

  it('leads from a question of the broker to one argument', async () => {
    let stderr = '';
    const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => Boolean((stderr += text)));
    const resource = 'https://notes.example/mcp';
    const question = {
      kind: 'signIn',
      id: 'aaaaaaaa',
      client: '',
      resource,
      issuer: 'https://notes.example',
      own: true,
      account: evil,
      url: 'https://notes.example/authorize',
      browserError: 'No browser was found.',
    };
    const broker = {
      capabilities: [],
      request: () => Promise.resolve({ requests: [question] }),
      onNotification: () => () => undefined,
    };
    for (const name of ['DISPLAY', 'WAYLAND_DISPLAY']) vi.stubEnv(name, undefined);
    await watchQuestions(broker, { resource }, { earlier: new Set() });
    vi.unstubAllEnvs();
    spy.mockRestore();
    for (const option of ['--paste', '--new-client']) {
      const line = stderr.split('\n').find((one) => one.includes(option));
      expect(pasted(line)).toEqual(['login', resource, '--account', evil, option]);
    }
  });
});

/** Built of options that the same rule checks. */
const ofCheckedOptions = new Set([
  'accountOption(signIn)',
  'sameTime(current ?? ended)',
  'signIn ? accountOption(signIn) : scopes',
  'option',
  "options.join(' ')",
]);

/** These templates hold words of the source itself, or say of a command what it takes. */
const ownFiles =
  'main completion/bash completion/zsh completion/fish commands/sign-in/revoke terminal/arguments terminal/command terminal/help';
const ownWords = new Set(ownFiles.split(' ').map((name) => `cli/${name}.ts`));

/** Expressions that a template puts into a command, or behind an option, without the function. */
function unescaped(file: string, text: string): string[] {
  const found: string[] = [];
  const { program } = parseSync(file, text);
  new Visitor({
    TemplateLiteral: ({ quasis, expressions }) => {
      let before = '';
      for (const [at, expression] of expressions.entries()) {
        before += quasis[at]?.value.cooked ?? '';
        const source = text.slice(expression.start, expression.end);
        // A command ends with its sentence, with the quotation or with the spaces before a remark.
        const isInCommand = /(?:^|[^\w/-])keyturn (?:[a-z]+ )(?:(?![.;] | {2}|`|\n).)*$/.test(before);
        const isOption = /(?:^|\s)--[a-z-]+[ =]["']?$/.test(before);
        const isChecked = /^shell(?:Word|Option)\(/.test(source) || ofCheckedOptions.has(source);
        if ((isInCommand || isOption) && !isChecked) found.push(`${file}: ${source}`);
        before += 'X';
      }
    },
    // 'keyturn login ' + text
    BinaryExpression: ({ operator, left }) => {
      const words = text.slice(left.start, left.end);
      if (operator === '+' && /keyturn [a-z -]+ ['"`]$/.test(words)) found.push(`${file}: ${words}`);
    },
  }).visit(program);
  return found;
}

it.each(['src', 'electron', 'renderer'])('no template of %s puts a bare value into a command', (name) => {
  const folder = path.join(import.meta.dirname, '..', name);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => /\.tsx?$/.test(file) && !ownWords.has(file));
  const found = files.flatMap((file) => unescaped(file, readFileSync(path.join(folder, file), 'utf8')));
  expect(found).toEqual([]);
});

it('the rule sees a bare value, one in quotation marks and one behind an option', () => {
  const text = [
    '`Sign in: keyturn login ${endpoint} --scope "${scope}"`',
    '` --account ${quoted(account)}`',
    "'keyturn login ' + endpoint",
    '`Say keyturn login ${shellWord(endpoint)}. Not ${account}`',
  ].join(';\n');
  expect(unescaped('a.ts', text)).toHaveLength(4);
});
