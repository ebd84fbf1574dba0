/** What the main process takes for the answer to a card of several questions, whatever its page says. */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import type { ParamsOn } from '../../electron/bridge/channels.ts';
import { connect, type Connection } from '../../src/client/index.ts';
import { signInFor } from '../journeys/connected-home.ts';
import { newHome, type TestHome, until } from '../support/home.ts';
import { asks } from '../support/processes/program.ts';
import { ask, askByPress, lookAt, onlyPage, openApp, valueOf } from './rig.ts';
import { ofTest } from '../support/lasting.ts';

/** Shows these questions as one card, and looks at it. */
async function lookAtCard(page: Page, ids: string[]): Promise<void> {
  valueOf(await ask(page, 'card.shown', { ids }));
  await lookAt(page);
}

/** Presses something, and answers in that moment. */
const pressFor = <C extends 'card.answer' | 'request.answer'>(page: Page, channel: C, params: ParamsOn<C>) =>
  askByPress(page, () => page.locator('h1, h2').first().click(), channel, params);

const questions = async (page: Page) => valueOf(await ask(page, 'request.list', {})).requests;

/** The desk with its main window, and a connected program. */
async function desk(): Promise<{ home: TestHome; page: Page; program: Connection }> {
  const home = newHome({ vault: 'keychain' });
  await signInFor(home, { editor: undefined });
  const page = await onlyPage(await openApp(home));
  const program = await ofTest(connect({ name: 'editor', env: home.env }));
  return { home, page, program };
}

const server = (name: string): string => `https://${name}.example/mcp`;

/** The ids of so many open questions, by their servers. */
async function idsOf(page: Page, count: number): Promise<(name: string) => string> {
  const open = await until('the questions', async () => {
    const now = await questions(page);
    return now.length === count ? now : undefined;
  });
  return (name) => open.find(({ resource }) => resource === server(name))?.id ?? '';
}

const permissions = async (page: Page) =>
  valueOf(await ask(page, 'app.list', {})).apps.flatMap((client) =>
    client.permissions.map(({ resource }) => resource),
  );

it('a hostile page gets no questions of two apps by one press, nor hidden ones', async () => {
  const { home, page, program } = await desk();
  void asks(program, { resource: server('one') });
  void asks(program, { resource: server('two') });
  const command = home.start(['token', server('three')]);
  const id = await idsOf(page, 3);
  const both = ['one', 'three'].map((name) => ({ id: id(name), answer: 'approve' as const }));
  await lookAtCard(page, [id('one'), id('three')]);
  expect(await pressFor(page, 'card.answer', { answers: both })).toMatchObject({
    refusal: { reason: 'invalid_request', message: 'These requests are not on one card.' },
  });
  await lookAtCard(page, [id('one')]);
  const unseen = ['one', 'two'].map((name) => ({ id: id(name), answer: 'approve' as const }));
  expect(await pressFor(page, 'card.answer', { answers: unseen })).toMatchObject({
    refusal: {
      reason: 'not_permitted',
      message: 'Nothing was allowed. The card of this request was not on the screen.',
    },
  });
  expect(await permissions(page)).toEqual([]);
  expect(await questions(page)).toHaveLength(3);
  command.signal('SIGINT');
  await command.ended;
});

it('the answer to a card goes to each question that still needs one', async () => {
  const { home, page, program } = await desk();
  for (const name of ['one', 'two', 'three']) void asks(program, { resource: server(name) });
  const id = await idsOf(page, 3);
  await lookAtCard(page, [id('one'), id('two'), id('three')]);
  expect((await home.keyturn(['request', 'deny', id('two'), '--remember'])).code).toBe(0);
  const duration = { seconds: 60 };
  const answers = ['one', 'two', 'three'].map((name) => ({
    id: id(name),
    answer: 'approve' as const,
    duration,
  }));
  valueOf(await pressFor(page, 'card.answer', { answers }));
  await until('the permission', async () => (await permissions(page)).length === 3);
  const decided = valueOf(await ask(page, 'audit.tail', { count: 20 })).rows.flatMap(
    ({ event, outcome, endpoint }) => (event === 'permission' ? [[endpoint, outcome]] : []),
  );
  expect(decided).toEqual([
    [server('two'), 'deny'],
    [server('one'), 'allow'],
    [server('three'), 'allow'],
  ]);
  const over = { answers: [{ id: id('two'), answer: 'dismiss' as const }] };
  expect(await ask(page, 'card.answer', over)).toMatchObject({ refusal: { reason: 'not_found' } });
});
