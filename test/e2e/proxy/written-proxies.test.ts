/** Another program writes the list of proxies, whose ports are opened before the vault was asked. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { terminalLog } from '../../../src/daemon/system/log.ts';
import { brokerOf } from '../../journeys/connected-home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { allowedProxy, call } from './proxy-rig.ts';

interface Listed {
  readonly records: readonly (readonly [string, object])[];
}

const withMore = (...more: readonly object[]) => {
  return ({ records, ...list }: Listed): object => {
    const [, first = {}] = records.find(([name]) => name === 'proxies') ?? [];
    const added = more.map((one, at) => ['proxies', { ...first, id: `more-${at}`, ...one }]);
    return { ...list, records: [...records, ...added] };
  };
};

type Written = readonly [how: string, change: (list: Listed) => object, words: string];

const lists: readonly [Written, ...Written[]] = [
  ['a port that there is not', withMore({ port: 70_000 }), '"proxies.1.port"'],
  ['a path that anybody guesses', withMore({ path: 'mcp' }), '"proxies.1.path"'],
  ['a name that nobody can type', withMore({ name: 'two words' }), '"proxies.1.name"'],
  [
    'more proxies than Keyturn keeps',
    withMore(...Array.from({ length: 32 }, (_, at) => ({ name: `more-${at}`, port: 20_000 + at }))),
    'it has more than the 32 records that Keyturn keeps',
  ],
];

it('authority.json: a list that Keyturn can’t have written is refused whole: status says why, and no port is opened', async () => {
  const { home, proxy } = await allowedProxy({ vault: 'keychain' });
  const file = path.join(home.paths.state, 'authority.json');
  await owner.stopBroker(home);
  const before = readFileSync(file, 'utf8');
  const [[how, change, words], ...others] = lists;
  writeFileSync(file, JSON.stringify(change(JSON.parse(before))));
  // Starts a broker.
  expect((await home.keyturn(['proxy', 'list'])).stderr, how).toContain('authority.json');
  const { stdout } = await home.keyturn(['status']);
  expect(stdout, how).toContain(words);
  expect(stdout, how).not.toContain('proxies  ');
  await expect(call(proxy.url), how).rejects.toThrow('fetch failed');
  await owner.stopBroker(home);
  const log = readFileSync(path.join(home.paths.state, 'broker.log'), 'utf8').split('\n');

  // A broker in this process reads the others. The commands print what it answers.
  for (const [other, written, why] of others) {
    writeFileSync(file, JSON.stringify(written(JSON.parse(before))));
    const daemon = await brokerOf(home, { log: terminalLog((line) => void log.push(line)) });
    try {
      await expect(askBroker(home, 'proxy.list', {}), other).rejects.toThrow('authority.json');
      const { proxies, unreadable } = await askBroker(home, 'status', {});
      expect(unreadable, other).toMatchObject([{ file, why: expect.stringContaining(why) }]);
      expect(proxies, other).toEqual([]);
      await expect(call(proxy.url), other).rejects.toThrow('fetch failed');
    } finally {
      await daemon.stop();
    }
  }
  expect(log.filter((line) => line.includes('the process of the proxies ended'))).toEqual([]);
});
