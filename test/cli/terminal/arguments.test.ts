/** What the flags' values mean. Refusals of whole command lines: refused-input.test.ts. */
import { describe, expect, it } from 'vitest';
import {
  durationFrom,
  parse,
  resourceFrom,
  scopeFrom,
  secondsFrom,
} from '../../../src/cli/terminal/arguments.ts';

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
    expect(durationFrom(text, '--for', 'allow')).toBe(seconds);
  });

  it.each(['0', '0s', '00h'])('of %s is over at once, and refused', (text) => {
    expect(() => durationFrom(text, '--for', 'allow')).toThrow(/--for takes a second at least/);
  });

  it.each(['', 's', '-1h', '1.5h', '1w', '8 h', '36501d', '9999999999', '١h'])('%j is none', (text) => {
    expect(() => durationFrom(text, '--for', 'allow')).toThrow(/--for takes a duration such as 8h or 30m/);
  });
});

describe('a number of seconds', () => {
  it('is whole, a day at most, and absent without the flag', () => {
    expect(secondsFrom('0', '--timeout', 'token')).toBe(0);
    expect(secondsFrom('86400', '--timeout', 'token')).toBe(86_400);
    expect(secondsFrom(undefined, '--timeout', 'token')).toBeUndefined();
    for (const text of ['86401', '1e3', '-5', '0x10', '']) {
      expect(() => secondsFrom(text, '--timeout', 'token'), text).toThrow(/whole number of seconds/);
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
  const operands = { names: ['RESOURCE'], command: 'token' };

  it('takes --flag=value, and everything after -- as an operand', () => {
    const parsed = parse(['--scope=a b', '--', '--odd'], { scope: { type: 'string' } }, operands);
    expect(parsed.values.scope).toBe('a b');
    expect(parsed.positionals).toEqual(['--odd']);
  });

  it('says how a value is written that begins with a dash', () => {
    const wrong = (): unknown => parse(['--timeout', '-1'], { timeout: { type: 'string' } }, operands);
    expect(wrong).toThrow('--timeout has no value; one that begins with a dash is written --timeout=VALUE.');
  });

  it('names an unknown flag, and never the value of another', () => {
    const line = ['--challenge', 'Bearer realm="private"', '--verbos', 'x'];
    const wrong = (): unknown => parse(line, { challenge: { type: 'string' } }, operands);
    expect(wrong).toThrow(/--verbos/);
    expect(wrong).not.toThrow(/private/);
  });
});
