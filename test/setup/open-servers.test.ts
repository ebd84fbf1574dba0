/** Which servers setup asks before anybody said yes. */
import { expect, it } from 'vitest';
import { leaveOpenServers, type NetworkFor } from '../../src/setup/open-servers.ts';
import type { SurveyedConfig } from '../../src/setup/survey.ts';
import { fileOf, switchOf } from './cursor.ts';

const finding = switchOf({ endpoint: 'https://127.0.0.1:1/mcp' });

const fileAt = (level: 'user' | 'project'): SurveyedConfig => ({
  config: fileOf('cursor', level),
  findings: [finding],
  text: '',
  mark: '',
});

it.each([
  ['user', 1],
  ['project', 0],
] as const)('of the file of a %s setup asks %i servers whether they need a sign-in', async (level, count) => {
  const asked: string[] = [];
  const file = fileAt(level);
  const found = await leaveOpenServers([file], (url) => {
    asked.push(url);
    throw new TypeError('no network');
  });
  expect(asked).toHaveLength(count);
  expect(found).toEqual([{ ...file, findings: [{ ...finding, isServerUnasked: true }] }]);
});

it.each(['user', 'project'] as const)('leaves an entry of a %s that Keyturn would refuse', async (level) => {
  const http: NetworkFor = () => ({ fetch, now: Date.now, wall: Date.now, allowInsecureLoopback: false });
  const plain = { ...finding, endpoint: 'http://127.0.0.1:1/mcp' };
  const key = { header: 'X-Api-Key', value: 'a-key' };
  const files = [{ ...fileAt(level), findings: [plain, { ...plain, key }] }];
  const [file] = await leaveOpenServers(files, http);
  const left = { kind: 'left', why: expect.stringContaining('insecureLoopback true') };
  expect(file?.findings).toMatchObject([
    { ...left, exposed: [] },
    { ...left, exposed: ['X-Api-Key'] },
  ]);
});
