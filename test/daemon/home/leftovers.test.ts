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
  config: ['owner.key.0123456789ab.new', 'settings.json.0123456789ab.new'],
  state: ['document.json.0123456789ab.new', 'broker.path.0123456789ab.new'],
  items: ['root.0123456789ab.new', `s-${'x'.repeat(22)}.0123456789ab.new`],
};
const kept = {
  config: ['settings.json', 'owner.key', 'settings.json.old', 'owner.key.new.mine'],
  state: ['document.json', 'document.json.bak', 'vault.sealed', 'notes.json.0123456789ab.new', 'broker.path'],
  items: ['root', `s-${'x'.repeat(22)}`],
};
it('drafts are removed, and everything else stays', async () => {
  const paths = newPaths();
  const folders = { config: paths.config, state: paths.state, items: path.join(paths.state, 'items') };
  mkdirSync(folders.items);
  for (const place of ['config', 'state', 'items'] as const)
    for (const name of [...drafts[place], ...kept[place]]) writeFileSync(path.join(folders[place], name), '');
  await clearLeftovers(paths, () => undefined);
  expect(readdirSync(paths.config).toSorted()).toEqual(kept.config.toSorted());
  expect(readdirSync(paths.state).toSorted()).toEqual([...kept.state, 'items'].toSorted());
  expect(readdirSync(folders.items).toSorted()).toEqual(kept.items.toSorted());
});

it('a draft that can’t be removed is reported, and does not prevent the start', async () => {
  const paths = newPaths();
  mkdirSync(path.join(paths.state, 'document.json.0123456789ab.new'));
  const told: string[] = [];
  await clearLeftovers(paths, (line) => told.push(line));
  expect(told).toEqual([expect.stringContaining('could not be removed')]);
});
