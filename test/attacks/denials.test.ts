/** A program that was denied wants to be asked about again, or to take from others what they use. */
import { expect, it } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { homeInBentWorld } from '../support/bent/home.ts';
import { ofTest } from '../support/lasting.ts';
import { type Desk, openDesk, pairAt } from '../support/homes/desk-home.ts';
import { newHome } from '../support/home.ts';

const resource = 'https://notes.example/mcp';

/** A paired program at a desk. */
async function deskWithEditor(home = newHome()) {
  const desk = await openDesk(home);
  await pairAt(desk, 'editor');
  return { ...desk, editor: await ofTest(connect({ name: 'editor', env: home.env })) };
}

const deny = ({ owner }: Desk) => owner.call('permission.set', { app: 'editor', resource, decision: 'deny' });

it('a denied program doesn’t end its denial by giving up its permission', async () => {
  const desk = await deskWithEditor();
  await deny(desk);
  const released = desk.editor.request('permission.release', { resource });
  await expect(released).rejects.toMatchObject({ reason: 'not_permitted' });
  const asking = desk.editor.getToken({ resource, interaction: 'allow', timeout: 1 });
  await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
  expect(await desk.cards()).toEqual([]);
});

it('a program with a permission revokes no sign-in that others use', async () => {
  const { home, world, url } = await homeInBentWorld();
  const { owner, card, editor } = await deskWithEditor(home);
  const signingIn = owner.call('signIn.start', { resource: url });
  await (await world.fetch((await card()).url ?? '')).body?.cancel();
  await signingIn;
  await owner.call('permission.set', { app: 'editor', resource: url, decision: 'allow' });
  const revoking = editor.request('signIn.revoke', { resource: url });
  await expect(revoking).rejects.toMatchObject({
    reason: 'not_permitted',
    hint: expect.stringContaining('permission.release') as string,
  });
  expect(await owner.call('signIn.list', {})).toMatchObject({ signIns: [{ state: 'active' }] });
  await editor.request('permission.release', { resource: url });
});
