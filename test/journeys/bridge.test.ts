/** What the user at a desk sees of a bridge: pages that its server wants opened, and what it waits for. */
import { expect, it } from 'vitest';
import { ofFile } from '../support/lasting.ts';
import { openWorld } from '../support/world.ts';
import { clientOf } from '../support/processes/bridge-client.ts';
import { payPage, workshop } from '../support/servers/workshop.ts';
import { answerCard, button, openCard, tab, usedSeat } from './person.ts';

const world = ofFile(() => openWorld({ service: workshop() }));

it('a server’s page is a card with its host; only a press in the window opens it', async () => {
  const { seat } = await usedSeat(world);
  const { client } = await clientOf(seat.home, world.protectedServer.resource, '--as', 'editor');
  const paid = client.callTool({ name: 'pay' });
  const card = await openCard(seat, 'asks you to open a page');
  expect(await card.locator('.host-name').innerText()).toBe('xn--py-7kc.example');
  const text = await card.locator('.question').innerText();
  for (const part of [
    'https://xn--py-7kc.example/checkout?order=7',
    world.protectedServer.resource,
    'editor',
    payPage.message,
  ])
    expect(text).toContain(part);
  expect(await card.locator('main :is(img, script, iframe, a, b)').count()).toBe(0);

  const pending = await seat.home.ok(['request', 'list']);
  expect(pending).toContain('asks you to open a page at xn--py-7kc.example');
  expect(pending).not.toContain('order=7');
  const [, id = ''] = /^(\S+) {2}/m.exec(pending) ?? [];
  expect(await seat.home.keyturn(['request', 'approve', id])).toMatchObject({ code: 4 });
  expect(seat.tabs()).toEqual([]);

  await answerCard(card, 'Open');
  expect(await paid).toMatchObject({ content: [{ text: 'accept' }] });
  expect(await tab(seat, 1)).toBe('https://xn--py-7kc.example/checkout?order=7');

  const unpaid = client.callTool({ name: 'unpaid' });
  unpaid.catch(() => undefined);
  const unwanted = await openCard(seat, 'asks you to open a page');
  await expect.poll(() => button(unwanted, 'Open').isEnabled()).toBe(true);
  await answerCard(unwanted, 'Don’t open');
  await expect(unpaid).rejects.toThrow(/the user denied it/);
  expect(seat.tabs()).toHaveLength(1);
});
