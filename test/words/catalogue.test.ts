/** The catalogue of words: its plurals and signs, and what has to be in it. */
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import { desktop as englishDesktop } from '../../words/en/desktop.ts';
import { window as englishWindow } from '../../words/en/window.ts';
import { bindMessages } from '../../words/messages.ts';

type Messages = ReadonlyMap<string, string>;

/** Each message by the path of its keys. */
function flat(tree: object, path = ''): Messages {
  return new Map(
    Object.entries(tree).flatMap(([key, value]: [string, unknown]): [string, string][] => {
      if (typeof value === 'string') return [[`${path}${key}`, value]];
      return typeof value === 'object' && value !== null ? [...flat(value, `${path}${key}.`)] : [];
    }),
  );
}

const english = flat({ window: englishWindow, desktop: englishDesktop });
const parsed = (text: string) => new IntlMessageFormat(text, 'en', undefined, { ignoreTag: true });

describe('the catalogue of words', () => {
  it('has no sign that would be read as syntax, and ends nothing with a space', () => {
    expect([...english].filter(([, text]) => /'|\s$|^\s|\.\.\./.test(text))).toEqual([]);
  });

  it('says 0, 1, 2 and 5 of everything that is counted', () => {
    for (const [key, text] of english) {
      if (!text.includes('{count, plural')) continue;
      const values = Object.fromEntries(
        [...text.matchAll(/\{(\w+)[,}]/g)].map(([, name = '']) => [name, 'x']),
      );
      const said = [0, 1, 2, 5].map((count) => String(parsed(text).format({ ...values, count })));
      expect(new Set(said).size, key).toBe(4);
      expect(
        said.slice(2).every((one, at) => one.includes(at === 0 ? '2' : '5')),
        key,
      ).toBe(true);
      expect(
        said.filter((one) => /[{}#]/.test(one)),
        key,
      ).toEqual([]);
    }
  });
});

describe('a message', () => {
  const messages = {
    plain: 'Plain',
    two: '{app} uses {server}',
    count: '{count, plural, one {# row} other {# rows}}',
  } as const;
  const bound = bindMessages<typeof messages>(
    {
      plain: 'Schlicht',
      two: '{server} dient {app}',
      count: '{count, plural, one {# Zeile} other {# Zeilen}}',
    },
    'de-DE',
  );

  it('puts its arguments where the language has them, and counts as the language does', () => {
    expect(bound.plain).toBe('Schlicht');
    expect(bound.two({ app: 'a', server: 'b' })).toBe('b dient a');
    expect([0, 1, 1200].map((count) => bound.count({ count }))).toEqual([
      '0 Zeilen',
      '1 Zeile',
      '1.200 Zeilen',
    ]);
  });

  it('reads no argument as a message', () => {
    const hostile = '{app} {count, plural, other {#}} <b>’';
    expect(bound.two({ app: hostile, server: hostile })).toBe(`${hostile} dient ${hostile}`);
  });

  it('hands out the pieces of itself, in the order of the language', () => {
    const [app, server] = [{ is: 'app' }, { is: 'server' }];
    expect(bound.two.parts({ app, server })).toEqual([server, ' dient ', app]);
  });
});
