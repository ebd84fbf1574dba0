/** Text from outside on each kind of output: nothing in it commands a terminal, turns a line or can't be seen. */
import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { array, assert, constantFrom, oneof, property, sample, string } from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { inMenu, inNotification, serverName } from '../../electron/base/words.ts';
import { sanitizeLabel, sanitizeSentence } from '../../renderer/base/untrusted-text.ts';
import { exportAudit } from '../../src/audit/audit-export.ts';
import { KeyturnError, quoted, shellOption, shellWord } from '../../src/base/errors.ts';
import { print, printJson, printTable, refuse, say } from '../../src/cli/terminal/output.ts';
import { FileLog } from '../../src/daemon/system/log.ts';
import { consentPage, errorPage, signInPage } from '../../src/server/authorization/base/pages.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}\u2800]|\p{M}{7}/u;

/** Characters that command a terminal, turn the direction or can't be seen, among ordinary ones. */
const hostile = array(
  oneof(
    constantFrom('\u001b[31m', '\u009b2J', ...Array.from('\u0007\r\n\t\0\u007f\u202e\u2066\u061c')),
    constantFrom(...Array.from('\u200b\u200d\u00ad\u034f\u115f\u180e\u2028\u3164\ufe0f\ufeff')),
    constantFrom('\u0301'.repeat(9), '\u0e49\u20dd'.repeat(9)),
    constantFrom('\ue000', '\ue001', '\u{e0041}', '\u{e0100}', '\ud800', '\u2800', '\uffa0', '\ufff9'),
    string({ maxLength: 3 }),
  ),
  { maxLength: 6 },
).map((parts) => parts.join(''));

/** What these calls wrote to the terminal. */
function written(write: () => void): string {
  let all = '';
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => Boolean((all += String(text)))),
  );
  try {
    write();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return all;
}

const form = { action: '/x', formToken: ['a', 'b'] } as const;

const question = {
  ...form,
  isSelfNamed: true,
  redirectHost: 'app.example',
  isThisMachine: false,
  isLocalOnly: false,
  resourceUri: 'https://notes.example/mcp',
  lasts: 60,
  isRenewed: false,
  scopes: [],
};

/** Each kind of output, by the one function that it passes. Lines of our own end in a line feed. */
const outputs: Readonly<Record<string, (text: string) => string>> = {
  'a message': quoted,
  'a command': (text) => shellWord(text) + shellOption('a', text) + shellWord(text, 'win32'),
  'a refusal': (text) =>
    written(() => refuse(new KeyturnError('not_found', text, { hint: text, rule: text }))),
  'standard error': (text) => written(() => say(text)),
  'standard output': (text) => written(() => print(text)),
  'a table': (text) => written(() => printTable(['A'], [[text]])),
  JSON: (text) => written(() => printJson({ [text]: text })),
  'a window': (text) => sanitizeLabel(text) + sanitizeSentence(text),
  'a notification': (text) => inMenu(serverName(text)) + inNotification(serverName(text)),
  'a sign-in page': (text) => signInPage({ ...form, names: [text], complaint: text }),
  'a consent page': (text) => consentPage({ ...question, client: text, account: text, resource: text }),
  'an error page': (text) => errorPage(text, text),
};

describe('text from outside', () => {
  it.each(Object.keys(outputs))('on %s shows all that it has', (kind) => {
    assert(
      property(hostile, (text) => {
        expect(outputs[kind]?.(text).replaceAll('\n', '')).not.toMatch(unseen);
      }),
    );
  });

  it('in the log and in an export of the audit shows all that it has', async () => {
    const folder = temporaryFolder();
    const log = new FileLog(path.join(folder, 'broker.log'), () => 0);
    const texts = sample(hostile, 100);
    for (const client of texts) {
      log.write(client);
      const row = { time: 0, event: 'token', outcome: 'issued', client };
      appendFileSync(path.join(folder, 'audit.jsonl'), `${JSON.stringify(row)}\n`, { mode: 0o600 });
    }
    let all = readFileSync(path.join(folder, 'broker.log'), 'utf8');
    expect(all.split('\n')).toHaveLength(texts.length + 1);
    for (const format of ['csv', 'jsonl'] as const)
      expect(await exportAudit(folder, (text) => void (all += text), format)).toMatchObject({
        rows: texts.length,
      });
    expect(all.replaceAll(/\r?\n/g, '')).not.toMatch(unseen);
  });
});
