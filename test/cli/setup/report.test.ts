/** The lines of `keyturn setup` about one file. */
import { expect, it } from 'vitest';
import { surveyLines } from '../../../src/cli/setup/report.ts';

const config = {
  client: 'cursor',
  title: 'C',
  level: 'user',
  file: '',
  keyPaths: [],
  entryShape: 'usual',
} as const;

it('a reason with a command ends its line, behind what the file itself names', () => {
  const why =
    'another entry has another API key for this server: keyturn connect https://x.example/mcp --as a';
  const finding = {
    kind: 'left',
    entry: 'a',
    keyPath: [],
    why,
    exposed: ['X-`id`|$A'],
    gone: '/$(id)',
  } as const;
  const [, line] = surveyLines([{ config, findings: [finding], text: '', mark: '' }]);
  expect(line).toContain('X-`id`|$A');
  expect(line).toContain('/$(id)');
  expect(line?.endsWith(why)).toBe(true);
});
