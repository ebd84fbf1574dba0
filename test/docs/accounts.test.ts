/** The accounts with passwords of docs/servers/authorization-server.md, as they are printed there. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import type { Accounts } from '../../src/server/authorization/index.ts';
import { authorizationOf, startServer } from '../server/authorization/rig.ts';
import { ofTest } from '../support/lasting.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { codeBlocks, page } from './pages.ts';

it('a user signs in by the printed form with the password, and by no other', async () => {
  const file = path.join(temporaryFolder(), 'accounts.mts');
  const blocks = codeBlocks(page('docs/servers/authorization-server.md'), 'ts');
  writeFileSync(file, blocks.find((code) => code.includes('const accounts: Accounts')) ?? '');
  const { accounts } = (await import(pathToFileURL(file).href)) as { readonly accounts: Accounts };
  const rig = await ofTest(startServer({ accounts }));
  const browser = rig.browser();
  let shown = await browser.open(authorizationOf(rig).url);
  for (const wrong of [
    { user: 'alice', password: 'wonder' },
    { user: 'bob', password: '' },
  ]) {
    shown = await browser.submit(shown, wrong);
    expect([shown.status, shown.text]).toEqual([400, expect.stringContaining('Wrong name or password')]);
  }
  shown = await browser.submit(shown, { user: 'alice', password: 'wonderland' });
  expect(shown.text).toContain('You are signed in as <b>alice</b>');
  expect(await accounts.isKnown('bob')).toBe(false);
});
