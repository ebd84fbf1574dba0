/** After a crash: drafts are removed, other files stay. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { prepareFolders } from '../../../src/daemon/home/home.ts';
import { clearLeftovers } from '../../../src/daemon/home/leftovers.ts';
import { homePaths } from '../../../src/base/paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

function newPaths() {
  const folder = temporaryFolder();
  const paths = homePaths({ KEYTURN_HOME: folder });
  prepareFolders(paths);
  return paths;
}

const drafts = {
  config: ['owner.key.new', 'owner.key.2863311530', 'settings.json.tmp-17000000000a1b2c3'],
  state: ['authority.json.new', 'home.json.12345', 'broker.path.4711'],
};
const kept = {
  config: ['settings.json', 'owner.key', 'settings.json.old', 'owner.key.new.mine'],
  state: ['authority.json', 'authority.json.bak', 'vault.sealed', 'notes.json.12345', 'broker.path'],
};
it('drafts are removed, and everything else stays', async () => {
  const paths = newPaths();
  for (const place of ['config', 'state'] as const) {
    for (const name of [...drafts[place], ...kept[place]]) writeFileSync(path.join(paths[place], name), '');
  }
  await clearLeftovers(paths, () => undefined);
  expect(readdirSync(paths.config).toSorted()).toEqual(kept.config.toSorted());
  expect(readdirSync(paths.state).toSorted()).toEqual(kept.state.toSorted());
});

it('a draft that can’t be removed is reported, and does not prevent the start', async () => {
  const paths = newPaths();
  mkdirSync(path.join(paths.state, 'authority.json.new'));
  const told: string[] = [];
  await clearLeftovers(paths, (line) => told.push(line));
  expect(told).toEqual([expect.stringContaining('could not be removed')]);
});
