/** Attack: a new program takes a name that a person would take for the name of another program. */
import { describe, expect, it } from 'vitest';
import { LocalClients, localClientSchema } from '../../src/broker/records/local-client.ts';
import { testAuthority } from '../broker/rig.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const known = ['editor', 'Ledger', 'modem', 'agent-10', 'Почта'];

async function paired(): Promise<LocalClients> {
  const records = testAuthority(temporaryFolder()).records('clients', localClientSchema);
  await records.verify();
  const clients = new LocalClients(records);
  for (const name of known) await clients.add(name, 0);
  return clients;
}

/** What stands as `U+XXXX` in a title, so that it can be read. */
const shown = (name: string): string =>
  name.replace(/[^ -~]/gu, (character) => `U+${character.codePointAt(0)?.toString(16).toUpperCase()} `);

describe('a program that asks to be paired', () => {
  it.each(
    [
      'e\u{200B}ditor',
      'editor\u{2060}',
      'editor\u{FE0F}',
      'editor\u{E0101}',
      'editor\u{3164}',
      'editor\u{2800}',
      'editor\u{1D159}',
      '\u{3164}',
      '\u{115F}\u{1160}',
      '\u{2800}\u{2800}',
      '\u{200D}\u{200C}',
      '\u{AD}editor',
      'editor\u{A0}',
      ' editor',
      'editor ',
      'new   editor',
      'rotide\u{202E}',
      '\u{2066}new\u{2069}',
      'new\u{61C}',
      'new\u{FFFC}',
      'new\u{E000}',
      'new\u{7}',
    ].map((name) => [shown(name), name]),
  )('is refused a name with characters that nobody sees: "%s"', async (_title, name) => {
    const clients = await paired();
    expect(() => clients.refuseConfusing(name)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', hint: expect.stringContaining('another name') }),
    );
  });

  it.each(
    ['n\u{301}\u{301}ew', 'n\u{300}\u{301}\u{302}\u{303}\u{308}ew', '\u{301}new', '\u{301}', '...', '😀'].map(
      (name) => [shown(name), name],
    ),
  )('is refused a name of marks, or with a heap of them: %s', async (_title, name) => {
    const clients = await paired();
    expect(() => clients.refuseConfusing(name)).toThrow(
      expect.objectContaining({ reason: 'invalid_request' }),
    );
  });

  it.each(['p\u{430}yments', 'новыйz', 'αgent-x', 'ne\u{13C7}', 'ᏟᎳᎩ'].map((name) => [shown(name), name]))(
    'is refused a word whose letters are of several scripts, or of one that hardly anybody reads: %s',
    async (_title, name) => {
      const clients = await paired();
      expect(() => clients.refuseConfusing(name)).toThrow(
        expect.objectContaining({ reason: 'invalid_request' }),
      );
    },
  );

  it.each(
    [
      ['с\u{406}\u{456}', 'cli'],
      ['c1i', 'cli'],
      ['CIi', 'cli'],
      ['ｃｌｉ', 'cli'],
      ['1edger', 'Ledger'],
      ['Iedger', 'Ledger'],
      ['LEDGER', 'Ledger'],
      ['modern', 'modem'],
      ['agent-1O', 'agent-10'],
      ['agent‐10', 'agent-10'],
      ['ed\u{131}tor', 'editor'],
      ['𝐞𝐝𝐢𝐭𝐨𝐫', 'editor'],
      ['\u{435}ditor', 'editor'],
      ['П\u{3BF}чта', 'Почта'],
    ].map(([name = '', other = '']) => [shown(name), shown(other), name, other]),
  )('is refused the name %s, which looks like %s', async (_title, _other, name, other) => {
    const clients = await paired();
    expect(() => clients.refuseConfusing(name)).toThrow(
      expect.objectContaining({ message: expect.stringContaining(JSON.stringify(name)) }),
    );
    expect(other).not.toBe(name);
  });

  it.each([
    'editor',
    'Visual Editor',
    'editor-2',
    'agent-11',
    'Почтальон',
    'Почта Thunderbird',
    'Éditeur',
    'E\u{301}diteur',
    'Trình soạn thảo',
    '編集者アプリ',
    '한국어 편집기',
    'محرر النصوص',
    'संपादक',
    'notes (work) 😀',
    'bridge:https://notes.example/mcp',
  ])('keeps the name %s', async (name) => {
    const clients = await paired();
    expect(() => clients.refuseConfusing(name)).not.toThrow();
  });
});
