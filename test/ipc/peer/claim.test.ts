/** How an interpreter's arguments are shown: without code, and without values that look like a secret. */
import { describe, expect, it } from 'vitest';
import { claimIn } from '../../../src/ipc/peer/claim.ts';

const of = (...given: string[]) => claimIn(['node', ...given, ''].join('\0'));

describe('the arguments of an interpreter', () => {
  it('name the script and what it was given', () => {
    expect(of('--enable-source-maps', '/opt/agent/main.js', '--verbose', 'notes')).toEqual({
      script: '/opt/agent/main.js',
      arguments: ['--enable-source-maps', '/opt/agent/main.js', '--verbose', 'notes'],
      isCut: false,
    });
  });

  it.each([
    [['--require', './trace.js', 'main.js'], 'main.js'],
    [['-jar', 'server.jar', '-c', 'server.conf'], 'server.jar'],
  ])('the interpreter’s arguments %j have the script %s', (given, script) => {
    expect(of(...given)).toMatchObject({ script, isCut: false });
  });

  it.each([
    [['-e', 'connect("hunter2")'], ['-e']],
    [['-c', 'import os; os.x("hunter2")', 'more'], ['-c']],
    [['-lc', 'curl hunter2'], ['-lc']],
    [['-pe', 's/hunter2//'], ['-pe']],
    [['--print', 'hunter2'], ['--print']],
    [['eval', 'hunter2'], ['eval']],
    [
      ['--no-warnings', '-p', 'hunter2'],
      ['--no-warnings', '-p'],
    ],
  ])('the interpreter’s arguments %j end before the code', (given, shown) => {
    expect(of(...given)).toEqual({ arguments: shown, isCut: true });
  });

  it.each([
    [['--password=hunter2 and more'], '--password=…'],
    [['--password', 'hunter2'], '--password …'],
    [['--api-key', 'hunter2'], '--api-key …'],
    [['STRIPE_KEY=hunter2'], 'STRIPE_KEY=…'],
    [['-phunter2'], '-p…'],
    [['-H', 'Authorization: Basic hunter2'], '-H Authorization: …'],
    [['Bearer hunter2'], 'Bearer …'],
    [['https://anna:hunter2@a.example/mcp'], 'https://…@a.example/mcp'],
    [['https://a.example/mcp?x=hunter2'], 'https://a.example/mcp?…'],
    [['--dsn=host=a password=hunter2 user=b'], '--dsn=host=a password=… user=b'],
    [['ghp_hunter2'], '…'],
    [['--with', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln'], '--with …'],
    [['9f86d081884c7d659a2feaa0c55ad015'], '…'],
    [['x7Kp2mQ9vRt4Lw8Z'], '…'],
    [['4111111111111111'], '…'],
  ])('leave out what looks like a secret: %j', (given, shown) => {
    expect(
      of('main.js', ...given)
        .arguments.slice(1)
        .join(' '),
    ).toBe(shown);
  });

  it('leave out one of a hundred thousand characters, unread', () => {
    expect(of('main.js', 's'.repeat(100_000)).arguments).toEqual(['main.js', '…']);
  });

  it.each([
    '/home/anna/notes-server-v2-production/index.js',
    '--author=Anna',
    '2026-11-22',
    'LanguageServerMain',
  ])('keep %s', (given) => {
    expect(of('main.js', given).arguments.at(-1)).toBe(given === '--author=Anna' ? '--author=…' : given);
  });
});
