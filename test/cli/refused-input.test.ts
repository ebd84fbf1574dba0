/** What the command line can't understand: refused with exit 2 before a broker is looked for. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { collectOutput, type Printed } from '../support/processes/output.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const resource = 'https://notes.example/mcp';

let folder: string;
let printed: Printed;

beforeEach(() => {
  folder = temporaryFolder();
  vi.stubEnv('KEYTURN_HOME', path.join(folder, 'home'));
  printed = collectOutput();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** As bin.ts dispatches. */
async function keyturn([name, ...args]: string[]): Promise<number> {
  return main(name, args);
}

it.each([
  ['plain http to another machine', ['token', 'http://notes.example/mcp']],
  ['a line break in the URL', ['app', 'deny', 'cli', 'https://notes.example/m\ncp']],
  ['no such sign-in and no URL', ['logout', 'notes']],
  ['a control character in a scope', ['app', 'allow', 'cli', resource, '--scope', 'notes\u0007read']],
  ['an empty scope', ['login', resource, '--scope', ' ']],
  ['a timeout of years', ['token', resource, '--timeout', '99999999s']],
  ['a lease without a unit that exists', ['app', 'allow', 'cli', resource, '--for', '3 weeks']],
  ['a lease of a thousand years', ['app', 'allow', 'cli', resource, '--for', '365000d']],
  ['another status than 401 and 403', ['token', resource, '--status', '500']],
  ['a rejected token that nobody named', ['token', resource, '--status', '401']],
  ['a question without an id', ['request', 'approve', '']],
  ['a verb that there is not', ['request', 'postpone', 'abcd1234']],
  ['a noun without a verb', ['broker']],
  ['a registration without a client id', ['oauth-client', 'add', 'https://login.example']],
  ['no operand', ['token']],
  ['no command', []],
])('exits 2 for %s, with nothing on stdout and nothing started', async (_what, args) => {
  expect(await keyturn(args)).toBe(2);
  expect(printed.stdout).toBe('');
  expect(printed.stderr).not.toBe('');
  expect(printed.stderr).not.toContain('secret');
  expect(existsSync(path.join(folder, 'home'))).toBe(false);
});

describe('before anything is done', () => {
  afterEach(() => {
    expect(printed.stdout).toBe('');
    expect(existsSync(path.join(folder, 'home'))).toBe(false);
  });

  it.each(['--scope', '--account'])('keyturn app allow refuses %s together with --api-key', async (more) => {
    expect(await keyturn(['app', 'allow', 'cli', 'https://a.example', '--api-key', more, 'a'])).toBe(2);
  });

  it.each([
    [[]],
    [['--env', 'NOTES_TOKEN']],
    [['--env', `1A=${resource}`]],
    [['--env', `A=${resource}`, '--file', `A=${resource}`]],
    [['--env', 'A=https://a.example/', '--env', 'B=https://b.example/', '--scope', 'read']],
  ])('keyturn exec is refused without a variable and with a wrong one: %j', async (options) => {
    expect(await keyturn(['exec', ...options, '--', 'echo', 'ran'])).toBe(2);
    expect(printed.stderr).toContain('reason: invalid_request');
  });
});

it('help goes to stdout with exit 0, for the whole and for each command', async () => {
  expect(await keyturn(['--help'])).toBe(0);
  const commands = [...printed.stdout.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map(([, name]) => name ?? '');
  expect(commands).toContain('token');
  expect(commands.length).toBeGreaterThan(10);
  for (const name of commands) {
    printed.stdout = '';
    expect(await keyturn([name, '--help'])).toBe(0);
    expect(printed.stdout).toMatch(new RegExp(`^Usage: keyturn ${name}\\b`));
  }
  expect(printed.stderr).toBe('');
  expect(existsSync(path.join(folder, 'home'))).toBe(false);
});

describe('an unknown command', () => {
  it.each([
    ['approve', 'request approve'],
    ['rotate', 'proxy rotate'],
  ])('that is the verb %s is answered with its noun', async (verb, command) => {
    expect(await keyturn([verb])).toBe(2);
    expect(printed.stderr).toContain(`Did you mean ${command}?`);
  });
});
