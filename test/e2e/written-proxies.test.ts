/** Another program writes the list of proxies, which is served before the vault was asked. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../support/home.ts';
import { allowedProxy } from './proxy-rig.ts';

it.each([
  ['a port that there is not', { port: 70_000 }],
  ['no port', { port: 0 }],
  ['a path that anybody guesses', { path: 'mcp' }],
])('starts no process again and again for an entry with %s', async (_what, wrong) => {
  const { home } = await allowedProxy({ vault: 'keychain' });
  await home.ok(['daemon', '--stop']);
  const file = path.join(home.paths.state, 'proxies.json');
  const list = JSON.parse(readFileSync(file, 'utf8')) as { items: object[] };
  list.items.push({ ...list.items[0], id: 'of-another-program', ...wrong });
  writeFileSync(file, JSON.stringify(list));
  const { stderr } = await home.keyturn(['proxy', 'list']);
  expect(stderr).toContain('proxies.json');
  const log = (): string => readFileSync(path.join(home.paths.state, 'daemon.log'), 'utf8');
  await until('the broker runs', () => log().match(/started:/g)?.length === 2);
  await home.ok(['daemon', '--stop']);
  expect(log()).not.toContain('the process of the proxies ended');
});
