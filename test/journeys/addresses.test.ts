/** An address that a protected server wants opened: what the person sees of it, and what becomes of each answer. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type TestWorld } from '../support/world.ts';
import { names } from './names.ts';
import { answerCard, button, openCard, type Place, tab, usedSeat } from './person.ts';

let world: TestWorld;
let place: Place;

beforeAll(async () => {
  world = await openWorld();
  const { caFile, protectedServer } = world;
  place = { caFile, resource: protectedServer.resource, signIn: (url) => world.signIn(url) };
});

afterAll(() => world.close());

// The middle letter is Cyrillic.
const address = 'https://p\u0430y.example/checkout?order=7';
const message = '<b>Pay</b> for your notes, at https://bank.example';

it('an address is a card with its host in view; the window opens it after a press, and the command line neither sees nor allows it', async () => {
  const { seat, program } = await usedSeat(place);
  const { resource } = place;
  const showing = program.request('url.show', { resource, url: address, message });
  const card = await openCard(seat, names.notice.address, names.card.dontOpen);
  expect(await card.locator('.host-name').innerText()).toBe('xn--py-7kc.example');
  const text = await card.locator('.question').innerText();
  for (const part of ['https://xn--py-7kc.example/checkout?order=7', resource, 'editor', message])
    expect(text).toContain(part);
  expect(await card.locator('main :is(img, script, iframe, a, b)').count()).toBe(0);

  const pending = await seat.home.ok(['pending']);
  expect(pending).toContain('asks you to open a page at xn--py-7kc.example');
  expect(pending).not.toContain('order=7');
  const [, id = ''] = /^(\S+) {2}/m.exec(pending) ?? [];
  expect(await seat.home.keyturn(['answer', id, 'yes'])).toMatchObject({ code: 4 });
  expect(seat.tabs()).toHaveLength(1);

  await answerCard(card, names.card.openAddress);
  expect(await showing).toEqual({ action: 'accept' });
  expect(await tab(seat, 2)).toBe('https://xn--py-7kc.example/checkout?order=7');
});

it('an address that the person does not want is not opened, and Enter is a no', async () => {
  const { seat, program } = await usedSeat(place);
  const { resource } = place;
  const showing = program.request('url.show', { resource, url: address });
  const card = await openCard(seat, names.notice.address, names.card.dontOpen);
  await expect.poll(() => button(card, names.card.openAddress).isEnabled()).toBe(true);
  await card.keyboard.press('Enter');
  expect(await showing).toEqual({ action: 'decline' });
  expect(seat.tabs()).toHaveLength(1);
});
