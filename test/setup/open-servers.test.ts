/** Which servers setup asks before anybody said yes. */
import { expect, it } from 'vitest';
import { leaveOpenServers } from '../../src/setup/open-servers.ts';
import type { SurveyedConfig } from '../../src/setup/survey.ts';

it.each([
  ['user', 1],
  ['project', 0],
] as const)('of the file of a %s setup asks %i servers whether they need a sign-in', async (scope, count) => {
  const asked: string[] = [];
  const endpoint = 'https://127.0.0.1:1/mcp';
  const finding = {
    kind: 'switch',
    entry: 'notes',
    way: [],
    as: 'x',
    endpoint,
    edits: [],
    shown: [],
  } as const;
  const config = {
    client: 'cursor',
    title: 'Cursor',
    scope,
    file: '/x',
    ways: [],
    dialect: 'usual',
  } as const;
  const file: SurveyedConfig = { config, findings: [finding], text: '', mark: '' };
  const found = await leaveOpenServers([file], (url) => {
    asked.push(url);
    throw new TypeError('no network');
  });
  expect(asked).toHaveLength(count);
  expect(found).toEqual([file]);
});
