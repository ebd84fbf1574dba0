/** JSON of other programs that is no file of settings. */
import { expect, it } from 'vitest';
import { NotUnderstood } from '../../../src/setup/formats/edit.ts';
import { jsonFormat } from '../../../src/setup/formats/json-format.ts';

it.each([
  ['nested deeper than the stack', `{"mcpServers":${'['.repeat(200_000)}`],
  ['cut off', '{"mcpServers": {"a": {'],
  ['empty', ''],
])('a file that is %s is not understood, and nothing fails', (_what, text) => {
  expect(() => jsonFormat.find(text, [['mcpServers']])).toThrow(NotUnderstood);
});
