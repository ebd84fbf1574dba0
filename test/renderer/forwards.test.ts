/** What the window shows of open forwards and how it ends one, over a real broker and a forward's own socket. */
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pair } from '../../src/client/pair.ts';
import { connect } from '../../src/client/connect.ts';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { questionId, startPageBroker } from './page-broker.ts';
import { button, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

it('the window lists open forwards, and ends one', async () => {
  const { answer, owner, resource } = await startPageBroker();
  const socket = path.join(temporaryFolder(), 'agent.sock');
  const opened = { label: 'agent', path: socket, resources: [resource], lifetime: 3600 };
  await owner.request('forward.open', opened);
  const machine = { label: 'build.example', hostKey: `SHA256:${'k'.repeat(43)}` };
  await owner.request('forward.open', { ...machine, resources: [resource], lifetime: 3600 });
  const env = { KEYTURN_HOME: temporaryFolder(), KEYTURN_SOCKET: socket };
  const pairing = pair({ name: 'editor', env, onCode: () => undefined });
  await owner.request('request.answer', { id: await questionId(owner, 'pair'), answer: 'yes' });
  const key = await pairing;
  const program = await connect({ key, env });
  onTestFinished(() => program.close());

  const { page } = await openWindow({ answer, hash: 'programs' });
  const section = page.getByRole('region', { name: 'Open to other machines and sandboxes' });
  await section.getByText('build.example').waitFor();
  await section.getByText(machine.hostKey).waitFor();
  await section.getByText('None: it is a sandbox on this computer').waitFor();
  expect(await section.getByText(resource).count()).toBe(2);
  expect(await accessibilityFaults(page)).toEqual([]);

  // By the keyboard alone.
  await page.getByRole('button', { name: 'Remove agent' }).press('Enter');
  await page.getByRole('dialog').getByText('any more').waitFor();
  await button(page, 'Remove').press('Enter');
  await page.locator('.announcement').getByText('Programs on agent can’t ask for access any more.').waitFor();
  await expect(program.request('token.get', { resource })).rejects.toThrow();
  await expect(connect({ key, env })).rejects.toMatchObject({ reason: 'broker_unreachable' });
  expect(await owner.request('forward.list')).toMatchObject({ forwards: [{ label: 'build.example' }] });

  await page.getByRole('button', { name: 'Remove build.example' }).click();
  await button(page, 'Remove').click();
  await section.waitFor({ state: 'detached' });
});
