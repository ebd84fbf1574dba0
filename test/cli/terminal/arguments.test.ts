/** What the options' values mean. Refusals of whole command lines: refused-input.test.ts. */
import { describe, expect, it } from 'vitest';
import {
  accountFrom,
  durationFrom,
  parse,
  resourceFrom,
  scopeFrom,
  secondsFrom,
} from '../../../src/cli/terminal/arguments.ts';
import type { Statement } from '../../../src/cli/terminal/statement.ts';

describe('an account', () => {
  it.each([
    [undefined, 'work', 'work'],
    [undefined, ' anna@work.example\r\n', 'anna@work.example'],
    [undefined, '', undefined],
    [undefined, ' ', undefined],
    [undefined, undefined, undefined],
    ['home', 'work', 'home'],
    ['', 'work', ''],
  ])('of --account %j and KEYTURN_ACCOUNT %j is %j', (typed, variable, account) => {
    expect(accountFrom(typed, { KEYTURN_ACCOUNT: variable }).account).toBe(account);
  });

  it.each(['a\nb', 'a\u001b[2J', 'a'.repeat(257)])('of KEYTURN_ACCOUNT %j is refused', (variable) => {
    expect(() => accountFrom(undefined, { KEYTURN_ACCOUNT: variable })).toThrow(
      'KEYTURN_ACCOUNT is not a name',
    );
  });
});

describe('a duration', () => {
  it.each([
    ['1', 1],
    ['90', 90],
    ['90s', 90],
    ['30m', 1800],
    ['8h', 28_800],
    ['2d', 172_800],
    ['36500d', 3_153_600_000],
  ])('%s is %d seconds', (text, seconds) => {
    expect(durationFrom(text, '--for')).toBe(seconds);
  });

  it.each(['0', '0s', '00h'])('a duration of %s is over at once, and refused', (text) => {
    expect(() => durationFrom(text, '--for')).toThrow(/--for takes a second at least/);
  });

  it.each(['', 's', '-1h', '1.5h', '1w', '8 h', '36501d', '9999999999', '١h'])('%j is none', (text) => {
    expect(() => durationFrom(text, '--for')).toThrow(/--for takes a duration such as 8h or 30m/);
  });
});

describe('a number of seconds', () => {
  it('is whole, a day at most, and absent without the option', () => {
    expect(secondsFrom('0', '--timeout')).toBe(0);
    expect(secondsFrom('86400', '--timeout')).toBe(86_400);
    expect(secondsFrom(undefined, '--timeout')).toBeUndefined();
    for (const text of ['86401', '1e3', '-5', '0x10', '']) {
      expect(() => secondsFrom(text, '--timeout'), text).toThrow(/whole number of seconds/);
    }
  });
});

describe('a scope and a resource', () => {
  it('pass as they were typed', () => {
    expect(scopeFrom('notes:read  notes:write')).toEqual({ scope: 'notes:read  notes:write' });
    expect(scopeFrom(undefined)).toEqual({});
    expect(resourceFrom('https://Notes.example/mcp/')).toBe('https://Notes.example/mcp/');
    // Whether plain http is accepted on this machine is the broker's setting, so the broker says it.
    expect(resourceFrom('http://localhost:8080/mcp')).toBe('http://localhost:8080/mcp');
  });

  it('are refused with a reason of their own', () => {
    expect(() => scopeFrom('a"b')).toThrow(expect.objectContaining({ reason: 'invalid_scope' }));
    expect(() => scopeFrom('')).toThrow(expect.objectContaining({ reason: 'invalid_scope' }));
    expect(() => resourceFrom('notes')).toThrow(expect.objectContaining({ reason: 'invalid_resource' }));
  });
});

describe('a command line', () => {
  const stated = (options: Statement['options']) =>
    ({
      name: 'token',
      summary: '',
      operands: [{ name: 'RESOURCE' }],
      options,
      about: '',
      examples: [],
    }) as const satisfies Statement;
  const text = { type: 'string', value: 'TEXT', summary: '' } as const;

  it('takes --option=value, and everything after -- as an operand', () => {
    const parsed = parse(['--scope=a b', '--', '--odd'], stated({ scope: text }));
    expect(parsed.options['scope']).toBe('a b');
    expect(parsed.operands).toEqual(['--odd']);
  });

  it('says how a value is written that begins with a dash', () => {
    const wrong = (): unknown => parse(['--timeout', '-1'], stated({ timeout: text }));
    expect(wrong).toThrow('--timeout has no value; one that begins with a dash is written --timeout=VALUE.');
  });

  it('names an unknown option, and never the value of another', () => {
    const line = ['--challenge', 'Bearer realm="private"', '--verbos', 'x'];
    const wrong = (): unknown => parse(line, stated({ challenge: text }));
    expect(wrong).toThrow(/--verbos/);
    expect(wrong).not.toThrow(/private/);
  });
});
