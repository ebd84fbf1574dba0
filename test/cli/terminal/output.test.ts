/** What is printed where, and how a refusal reads. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { print, printJson, printTable, refuse, say } from '../../../src/cli/terminal/output.ts';
import { collectOutput, type Printed } from '../../support/processes/output.ts';
import { KeyturnError, reasons, RuleRefusal } from '../../../src/base/errors.ts';

let printed: Printed;

beforeEach(() => {
  printed = collectOutput();
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('a refusal', () => {
  it('says what happened, which rule, what to do, and its reason, on stderr', () => {
    const refusal = new RuleRefusal('issuer_mismatch', 'Another issuer answered.', {
      rule: 'RFC 9207 §2.4',
      hint: 'Sign in again.',
      retryAfter: 30,
    });
    expect(refuse(refusal)).toBe(5);
    expect(printed.stdout).toBe('');
    expect(printed.stderr).toBe(
      'keyturn: Another issuer answered.\n  rule: RFC 9207 §2.4: an answer must name the issuer that was asked\n  read on: https://www.rfc-editor.org/rfc/rfc9207#section-2.4\n  hint: Sign in again.\n  again in: 30 s\n  reason: issuer_mismatch\n',
    );
  });

  it('has a JSON-RPC code of its own for each reason', () => {
    const codes = Object.values(reasons).map(({ code }) => code);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it.each(Object.entries(reasons))('with reason %s exits as the table says', (reason, { exit }) => {
    expect(refuse(new KeyturnError(reason as keyof typeof reasons, 'no'))).toBe(exit);
    expect([1, 2, 3, 4, 5, 6, 7, 8, 130]).toContain(exit);
  });

  it.each([
    Object.assign(new Error('open'), { code: 'EMFILE' }),
    new Error('Cannot read package config /a/package.json: too many open files.'),
  ])('says that the machine has no open file left: %s', (error) => {
    expect(refuse(error)).toBe(refuse(new KeyturnError('file_unreadable', 'no')));
  });

  it('names the file that the system refused, and none of the error’s text', () => {
    const error = Object.assign(new Error('ey.secret'), { code: 'EROFS', path: '/a/b', syscall: 'mkdir' });
    expect(refuse(error)).toBe(7);
    expect(printed.stderr).toMatch(/^keyturn: "\/a\/b" can't be used \(EROFS\)\.\n/);
    expect(printed.stderr).not.toContain('secret');
  });

  it('a refusal that nobody meant shows the name of the error and none of its text', () => {
    expect(refuse(new TypeError('token ey.secret is not iterable'))).toBe(1);
    expect(printed.stderr).toContain('internal error (TypeError)');
    expect(printed.stderr).not.toContain('secret');
    expect(refuse('ey.secret')).toBe(1);
    expect(printed.stderr).not.toContain('secret');
  });
});

describe('text of a server', () => {
  const hostile = 'https://evil.example/\u001b[2J\nkeyturn: all is well\u202e\ue000x\ue001';
  const harmless = String.raw`https://evil.example/\u001b[2J\u000akeyturn: all is well\u202e\ue000x\ue001`;

  it('B-38: is shown with its control characters as escapes, wherever it is shown', () => {
    say(hostile);
    expect(printed.stderr).toBe(`${harmless}\n`);
    print(hostile);
    printTable(['SERVER'], [[hostile]]);
    expect(printed.stdout).toBe(`${harmless}\nSERVER\n${harmless}\n`);
  });

  it('is the same again for a program that reads the JSON', () => {
    printJson({ issuer: hostile });
    expect(printed.stdout).not.toMatch(/[^\x20-\x7e\n]/);
    expect(JSON.parse(printed.stdout)).toEqual({ issuer: hostile });
  });
});

it('a narrow terminal gets a block for each row of a table', () => {
  const { isTTY, columns } = process.stdout;
  onTestFinished(() => void Object.assign(process.stdout, { isTTY, columns }));
  const rows = [
    ['0123456789abcdef', 'https://notes.example/a/long/path', ''],
    ['fedcba9876543210', 'https://notes.example/mcp', 'active'],
  ];
  Object.assign(process.stdout, { isTTY: true, columns: 40 });
  printTable(['GRANT', 'SERVER', 'STATE'], rows);
  expect(printed.stdout).toBe(
    'GRANT   0123456789abcdef\nSERVER  https://notes.example/a/long/path\n\n' +
      'GRANT   fedcba9876543210\nSERVER  https://notes.example/mcp\nSTATE   active\n',
  );
  printed.stdout = '';
  Object.assign(process.stdout, { columns: 80 });
  printTable(['GRANT', 'SERVER', 'STATE'], rows);
  expect(printed.stdout.split('\n')).toHaveLength(4);
});
