/** JSON of other programs that is no file of settings. */
import { expect, it } from 'vitest';
import { applied, NotUnderstood } from '../../../src/setup/formats/edit.ts';
import { jsonFormat } from '../../../src/setup/formats/json-format.ts';

it.each([
  ['nested deeper than the stack', `{"mcpServers":${'['.repeat(200_000)}`],
  ['cut off', '{"mcpServers": {"a": {'],
  ['empty', ''],
])('a file that is %s is not understood, and nothing fails', (_what, text) => {
  expect(() => jsonFormat.find(text, [['mcpServers']])).toThrow(NotUnderstood);
});

const members = { url: undefined, command: 'c', headers: undefined, oauth: undefined };
const change = (entry: string): string | undefined => {
  const text = `{"mcp": {"notes": ${entry}}}`;
  const [place] = jsonFormat.find(text, [['mcp']]);
  const edits = place && jsonFormat.edit(text, place, { anchor: 'url', members });
  return edits && applied(text, edits).slice('{"mcp": {"notes": '.length, -2);
};

it.each([
  ['{"url": "u", "headers": {}, "oauth": false}', '{"command": "c"}'],
  ['{"url": "u", "headers": {}, "oauth": false, }', '{"command": "c", }'],
  ['{"headers": {}, "oauth": false, "url": "u"}', '{"command": "c"}'],
  ['{\n  "url": "u", // a\n  "headers": {},\n  "oauth": false\n}', '{\n  "command": "c" // a\n}'],
  ['{\r\n  "url": "u",\r\n  "headers": {},\r\n  "x": 1\r\n}', '{\r\n  "command": "c",\r\n  "x": 1\r\n}'],
  ['{"url": "u", // a\n "headers": {} }', '{"command": "c" // a\n }'],
  ['{"url": "u", "headers": {} /* a */, "x": 1}', '{"command": "c",  /* a */ "x": 1}'],
])(
  'members that go from %j take one comma each along, and no comment swallows what follows',
  (entry, after) => {
    expect(change(entry)).toBe(after);
    expect(() => jsonFormat.find(after, [[]])).not.toThrow();
  },
);
