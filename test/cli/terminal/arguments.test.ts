/** What the options' values mean. Refusals of whole command lines: test/cli/refusals.txt. */
import { describe, expect, it } from 'vitest';
import {
  accountFrom,
  secondsFrom,
  parse,
  durationFrom,
  waitFrom,
  wholeId,
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
    ['0s', 0],
    ['90s', 90],
    ['30m', 1800],
    ['8h', 28_800],
    ['2d', 172_800],
    ['36500d', 3_153_600_000],
  ])('%s is %d seconds', (text, seconds) => {
    expect(secondsFrom(text, '--for')).toBe(seconds);
  });

  it.each(['0s', '00h'])('a duration of %s is refused: it ends at once', (text) => {
    expect(() => durationFrom(text, '--for')).toThrow(/--for takes a second at least/);
  });

  it.each(['0', '90'])('a bare number such as %s is refused with the fix', (text) => {
    expect(() => secondsFrom(text, '--for')).toThrow(`write ${text}s, ${text}m or ${text}h`);
  });

  it.each(['', 's', '-1h', '1.5h', '1w', '8 h', '36501d', '9999999999', '١h'])('%j is none', (text) => {
    expect(() => secondsFrom(text, '--for')).toThrow(/--for takes a time such as 30s, 30m, 8h or 2d/);
  });
});

it('a wait is a day at most, and absent without the option', () => {
  expect(waitFrom('0s', '--timeout')).toBe(0);
  expect(waitFrom('1d', '--timeout')).toBe(86_400);
  expect(waitFrom(undefined, '--timeout')).toBeUndefined();
  expect(() => waitFrom('86401s', '--timeout')).toThrow(/a day at most/);
});

describe('a command line', () => {
  const stated = (options: Statement['options']) =>
    ({
      name: 'token',
      summary: '',
      operands: [{ name: 'URL' }],
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

const ids = ['1a2b3c4d', '1a2b9999', '5e6f7a8b'];

it('a short id stands for the id that it is, or the only one that begins so', () => {
  expect(wholeId('5e6f', ids)).toBe('5e6f7a8b');
  expect(wholeId('1a2b3', ids)).toBe('1a2b3c4d');
  expect(wholeId('1a2b9999', ids)).toBe('1a2b9999');
});

it('a short id is refused, with the ids it could be, where several begin so', () => {
  expect(() => wholeId('1a2b', ids)).toThrow(
    expect.objectContaining({ reason: 'conflict', message: '2 ids begin with "1a2b": 1a2b3c4d, 1a2b9999.' }),
  );
});
