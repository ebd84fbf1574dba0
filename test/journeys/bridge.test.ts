/** What the person at a desk sees of a bridge: pages that its server wants opened, and what it waits for. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type TestWorld } from '../support/world.ts';
import { clientOf } from '../support/processes/bridge-client.ts';
import { shop, shopPage } from '../support/servers/shop.ts';
import { names } from './names.ts';
import { answerCard, button, newSeat, openCard, type Place, tab, usedSeat } from './person.ts';

let world: TestWorld;
let place: Place;

beforeAll(async () => {
  world = await openWorld({ service: shop() });
  const { caFile, protectedServer } = world;
  place = { caFile, resource: protectedServer.resource, signIn: (url) => world.signIn(url) };
});

afterAll(() => world.close());

it('an address that a server names through the bridge is a card with its host in view; the window opens it after a press and not after a no, and the command line neither sees nor allows it', async () => {
  const { seat } = await usedSeat(place);
  const { client } = await clientOf(seat.home, place.resource, '--as', 'editor');
  const paid = client.callTool({ name: 'pay' });
  const card = await openCard(seat, names.notice.address);
  expect(await card.locator('.host-name').innerText()).toBe('xn--py-7kc.example');
  const text = await card.locator('.question').innerText();
  for (const part of [
    'https://xn--py-7kc.example/checkout?order=7',
    place.resource,
    'editor',
    shopPage.message,
  ])
    expect(text).toContain(part);
  expect(await card.locator('main :is(img, script, iframe, a, b)').count()).toBe(0);

  const pending = await seat.home.ok(['request', 'list']);
  expect(pending).toContain('asks you to open a page at xn--py-7kc.example');
  expect(pending).not.toContain('order=7');
  const [, id = ''] = /^(\S+) {2}/m.exec(pending) ?? [];
  expect(await seat.home.keyturn(['request', 'approve', id])).toMatchObject({ code: 4 });
  expect(seat.tabs()).toEqual([]);

  await answerCard(card, names.card.openAddress);
  expect(await paid).toMatchObject({ content: [{ text: 'accept' }] });
  expect(await tab(seat, 1)).toBe('https://xn--py-7kc.example/checkout?order=7');

  const unpaid = client.callTool({ name: 'unpaid' });
  unpaid.catch(() => undefined);
  const unwanted = await openCard(seat, names.notice.address);
  await expect.poll(() => button(unwanted, names.card.openAddress).isEnabled()).toBe(true);
  await answerCard(unwanted, names.card.dontOpen);
  await expect(unpaid).rejects.toThrow(/the person said no/);
  expect(seat.tabs()).toHaveLength(1);
});

it('what a new entry of the bridge waits for stands in the tray: to connect, for access, and the sign-in', async () => {
  const seat = await newSeat(place.caFile);
  // It waits for 20 s; the questions stay open.
  const started = clientOf(seat.home, place.resource, '--as', 'editor').catch(() => undefined);
  await answerCard(await openCard(seat, names.notice.pairing), names.card.pair);
  const card = await openCard(seat, names.notice.asking);
  await card.getByLabel(names.card.untilRevoked).check();
  await answerCard(card, names.card.allow);
  await place.signIn(await tab(seat, 1));
  await started;
  const { client } = await clientOf(seat.home, place.resource, '--as', 'editor');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['pay', 'unpaid']);
});
