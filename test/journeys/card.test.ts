/** The card at its worst moments, and windows full of what others chose. */
import type { Page } from 'playwright';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { iconShows, lookAt } from '../electron/rig.ts';
import { sharedCertificates } from '../support/bent/server.ts';
import { openBentWorld } from '../support/bent/world.ts';
import { asks } from '../support/processes/program.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { connectIn } from './connected-home.ts';
import { pairByHand } from './foreign-program.ts';
import { names } from './names.ts';
import {
  answerCard,
  button,
  newDesk,
  openCard,
  openMain,
  pairs,
  programOf,
  sharedSeat,
  tab,
} from './person.ts';

let world: TestWorld;

beforeAll(async () => {
  // The bent worlds below have the same authority.
  world = await openWorld({ certificates: await sharedCertificates() });
});

afterAll(() => world.close());

/** Notes, before the page's own scripts, whether a button could be pressed the moment it appeared. */
const noteFirstLook = (name: string): string => `new MutationObserver((_changes, observer) => {
  const found = [...document.querySelectorAll('button')].find((one) => one.textContent === '${name}');
  if (!found) return;
  window.firstLook = found.disabled ? 'disabled' : 'enabled';
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

const markup = '<img/src=x/onerror=window.wasHit=1>';

/** What a program may choose: its name, a server's address, scopes, an account. */
const hostile = {
  name: 'keyturn.io_support-desk',
  path: `/${encodeURIComponent('<script>window.wasHit=1</script>\u202egpj.')}${'W'.repeat(1500)}`,
  scope: `${markup} ${'W'.repeat(3000)}`,
  account: `\u202e${markup}`,
};

/** All that a reader gets of the page, on the screen or by its attributes. */
const textOf = (page: Page): Promise<string> =>
  page.evaluate<string>(`document.body.innerText + [...document.querySelectorAll('*')]
    .flatMap((element) => [...element.attributes].map(({ value }) => value)).join(' ')`);

/** Nothing became markup, nothing turned the text around, and nothing is wider than the window. */
async function isHarmless(page: Page): Promise<void> {
  const text = await textOf(page);
  expect(text).not.toMatch(/[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/);
  expect(await page.locator('main :is(img, script, iframe, a)').count()).toBe(0);
  expect(await page.evaluate('window.wasHit')).toBeUndefined();
  const { width, inner } = await page.evaluate<{ width: number; inner: number }>(
    '({ width: document.documentElement.scrollWidth, inner: document.documentElement.clientWidth })',
  );
  expect(width).toBeLessThanOrEqual(inner);
}

async function startSignIn(main: Page, address: string): Promise<void> {
  await main.getByText(names.servers.add, { exact: true }).click();
  await main.getByLabel(names.servers.address).fill(address);
  await lookAt(main);
  await button(main, names.servers.signIn).click();
}

describe('a card, and names that were chosen to deceive', () => {
  const desk = sharedSeat(async (group) => {
    const opened = newDesk(world.caFile, {}, group);
    await connectIn(opened.home, 'editor', 'agent', 'helper');
    return opened;
  });

  it('answers nothing when it is loaded again, and has to be looked at again', async () => {
    const seat = desk.current();
    const program = await programOf(seat, 'editor');
    const tabs = seat.tabs().length;
    const { resource } = world.protectedServer;
    const asking = asks(program, { resource });
    let isAnswered = false;
    const answered = asking.finally(() => (isAnswered = true));
    answered.catch(() => undefined);
    const card = await openCard(seat, names.notice.asking);
    const allow = button(card, names.card.allow);
    await expect.poll(() => allow.isEnabled()).toBe(true);
    await card.addInitScript(noteFirstLook(names.card.allow));
    await card.reload();
    await allow.waitFor();
    expect(await card.evaluate('window.firstLook')).toBe('disabled');
    expect(isAnswered).toBe(false);
    await iconShows(seat.app, names.icon.waiting);
    await answerCard(card, names.card.allow);
    await world.signIn(await tab(seat, tabs + 1));
    expect((await verdictOn(world, (await answered).access_token)).status).toBe(200);
  });

  it('shows hostile names as bounded text, as lists, menu and notifications do', async () => {
    const scopes = hostile.scope.split(' ');
    const bent = await openBentWorld({
      authorization: { issuerPath: `/${'W'.repeat(900)}`, scopesSupported: scopes, defaultScope: scopes },
      protection: { path: hostile.path, scopes, scopesSupported: scopes },
    });
    onTestFinished(() => bent.close());
    const { url: resource } = bent.protectedServer;
    const seat = desk.current();
    const tabs = seat.tabs().length;
    // A name of other characters is refused before a card is shown.
    for (const name of ['edi\u202etor', '<b>editor</b>']) {
      await expect(pairs(seat, name, pairByHand)).rejects.toThrow();
    }
    const key = await pairs(seat, hostile.name, pairByHand);
    const program = await connect({ key, env: seat.home.env });
    onTestFinished(() => program.close());
    const { account, scope } = hostile;
    const asking = asks(program, { resource, scope, account });
    const card = await openCard(seat, names.notice.asking);
    await isHarmless(card);
    // What a yes allows is on its card whole; everywhere else it is cut.
    expect(await textOf(card)).toContain('W'.repeat(3000));
    const rows = (await seat.app.tray()).rows.join('\n');
    expect(rows.length).toBeLessThan(1000);
    expect(rows).not.toMatch(/\u202e|W{100}/);

    await answerCard(card, names.card.allow);
    await bent.fetch(await tab(seat, tabs + 1));
    await asking;
    const main = await openMain(seat, 'servers');
    const picked = { servers: new URL(resource).host, programs: hostile.name } as const;
    for (const name of ['overview', 'servers', 'programs', 'activity', 'settings'] as const) {
      await openMain(seat, name);
      if (name === 'servers' || name === 'programs') {
        await main.locator('.pick', { hasText: picked[name] }).click();
        await main.locator('article', { hasText: picked[name] }).waitFor();
      }
      await isHarmless(main);
      expect(await textOf(main)).not.toContain('W'.repeat(400));
    }
    expect((await seat.app.tray()).rows.join('\n')).not.toMatch(/\u202e|W{100}/);
  });

  it('shows the words of a refusal as text', async () => {
    const bent = await openBentWorld();
    onTestFinished(() => bent.close());
    const { authorizationServer, protectedServer } = bent;
    const words = `${markup} \u202e ${'W'.repeat(10_000)}`;
    authorizationServer.server.on('POST', '/token', () => ({
      status: 400,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ error: 'invalid_scope', error_description: words }),
    }));
    const seat = desk.current();
    const tabs = seat.tabs().length;
    const main = await openMain(seat, 'servers');
    await startSignIn(main, protectedServer.url);
    await bent.fetch(await tab(seat, tabs + 1));
    await main.getByRole('alert').waitFor();
    await isHarmless(main);
  });
});
