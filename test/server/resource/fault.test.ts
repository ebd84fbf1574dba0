/** What an operator reads of a fault. */
import { expect, it } from 'vitest';
import { shownFault, shownWords } from '../../../src/server/resource/base/fault.ts';

const own = (changes: object) => Object.assign(new Error('no base'), changes);
const unnamed = 'thrown: a value that has no words';

it.each<[unknown, string]>([
  [own({ message: { error: 'x' } }), 'Error: "[object Object]" at '],
  [own({ stack: null }), 'Error: "no base"'],
  [own({ cause: own({ message: 5 }) }), 'Error: "no base" ("5") at '],
  [own({ message: Object.create(null) as unknown }), unnamed],
  [Object.create(null), unnamed],
  [own({ name: `\u{1b}${'n'.repeat(5000)}`, stack: null }), `\\u001b${'n'.repeat(299)}: "no base"`],
])('a fault of any form is told: %#', (thrown, told) => {
  expect(shownFault(thrown).slice(0, told.length)).toBe(told);
});

it.each([
  ['client_secret=hunter', 'client_secret=…'],
  ['{"access_token":"abcdefghijk","n":1}', '{"access_token":…,"n":1}'],
  [String.raw`{\"api_key\": \"a b\"}`, String.raw`{\"api_key\": …`],
  ['api_key=a apiKey: b refresh_token:c', 'api_key=… apiKey: … refresh_token:…'],
  ["password = hunter, password 'hunter two' of", 'password = … password … of'],
  ['Bearer  abc <secret>hunter</secret>', 'Bearer  … <secret>…'],
  ['Authorization: Own abc; cookie: a=b; c=d', 'Authorization:…'],
  ['redis://:p/w@h/ at https://u@h/x?code=abc', 'redis://…@h/ at https://…@h/x?…'],
  [`Unexpected token '<' at position 5`, `Unexpected token '<' at position 5`],
])('what may be a secret in %j is left out', (text, shown) => {
  expect(JSON.parse(shownWords(text))).toBe(shown);
});

const parts = 'token|token |token=|token="|\\| |//a:|cookie|Bearer |?|a1|"|'.split('|');

it.each([...parts, '\n'])('a long text of %j is read once', (part) => {
  for (const end of ['', 'x', '@']) shownWords(part.repeat(200_000) + end);
  for (const start of ['token', 'token=', 'cookie', 'Bearer']) shownWords(start + part.repeat(200_000));
});
