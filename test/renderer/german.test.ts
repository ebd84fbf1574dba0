/** The windows in German, in a real Chromium: whole at every width, and nothing of them in English. */
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exampleAnswer, exampleLater, exampleNow, exampleQuestions } from '../support/homes/example-desk.ts';
import { windowsOfTests, overflowing } from './page-window.ts';
import type { Answer } from './page-window.ts';
import type { Case } from '../../src/base/errors.ts';
import { signInCauses } from '../../src/broker/records/grant.ts';
import type { Refusal } from '../../electron/bridge/channels.ts';
import { windowsChromium } from '../support/browsers/windows-chromium.ts';
import { settled } from '../support/electron/window-page.ts';
import { openStatePage } from '../support/states/open-state.ts';
import { deskStates } from '../support/states/states.ts';
import { chooseLanguage } from '../../words/language.ts';
import { window as german } from '../../words/de/window.ts';
import { window as english } from '../../words/en/window.ts';

const openWindow = windowsOfTests();
const { allow, pair, url, command } = exampleQuestions;

const open = (language: string, hash: string) =>
  openWindow({
    answer: exampleAnswer({ 'interaction.list': { interactions: [allow, pair, url, command] } }),
    hash,
    spoken: chooseLanguage([language], language),
    later: exampleLater(),
    width: 320,
    height: 700,
  });

/** Its address, what stands there once it is read, and what opens it where an address doesn't. */
const screens: readonly (readonly [hash: string, sign: string, opener?: string])[] = [
  ['overview', '.node'],
  ['servers', '.pick'],
  ['servers/g1', 'article'],
  ['servers/g1', 'dialog .timeline', 'button[aria-label^=Details]'],
  ['servers/g1', 'dialog .danger.filled', 'button[aria-label^="Zugriff widerrufen"]'],
  ['servers', 'dialog .search', '.search-button'],
  ['programs', '.pick'],
  ['programs/c1', 'article'],
  ['programs/c1', 'dialog .scopes.choice', 'button[aria-label^="Zugriff einschränken"]'],
  ['activity', '.entry'],
  ['settings', '#app-title'],
  ['settings/security', '#vault-title'],
  ['settings/providers', '#registered-title'],
  ['settings/advanced', '#broker-title'],
  ['welcome', '.steps'],
  ['card/allow', '.question button.primary'],
  ['card/pair', '.question button.primary'],
  ['card/url', '.question button.primary'],
  ['card/command', '.question button.primary'],
];

async function goTo(page: Page, hash: string, sign: string, opener?: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  if (opener !== undefined) await page.locator(opener).first().click();
  await page.locator(sign).first().waitFor();
  await page.evaluate(settled);
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
}

/** Sentences of the English catalogue that German says otherwise: long enough to be no name. */
function sentences(tree: object, other: object): string[] {
  return Object.entries(tree).flatMap(([key, value]: [string, unknown]): string[] => {
    const translated: unknown = Reflect.get(other, key);
    if (typeof value === 'object' && value !== null)
      return sentences(value, typeof translated === 'object' && translated !== null ? translated : {});
    return typeof value === 'string' && value !== translated && value.includes(' ') ? [value] : [];
  });
}

const foreign = new Set(sentences(english, german).filter((text) => !text.includes('{')));

/** Stands for every sentence that a broker makes. */
const brokersWords = 'The broker says so.';

/** Names of fields with sentences of the broker; what a server says to a person is no such field. */
const prose = new Set([
  'why',
  'what',
  'hint',
  'rule',
  'now',
  'next',
  'clock',
  'key',
  'audience',
  'unshielded',
]);

function reworded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reworded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, of]: [string, unknown]) => [
      key,
      prose.has(key) && typeof of === 'string' && of.includes(' ') ? brokersWords : reworded(of),
    ]),
  );
}

const inBrokersWords =
  (answer: Answer): Answer =>
  async (channel, params) => {
    const said = await answer(channel, params);
    if (said.ok) return { ok: true, value: reworded(said.value) };
    return { ok: false, refusal: { ...said.refusal, message: brokersWords, hint: brokersWords } };
  };

/** What stands there, and what is read out. What is folded counts only when somebody unfolds it. */
async function linesOf(page: Page): Promise<ReadonlySet<string>> {
  const read =
    await page.evaluate<string>(`document.body.innerText + [...document.querySelectorAll('[aria-label]')]
        .map((element) => '\\n' + element.getAttribute('aria-label')).join('')`);
  return new Set(read.split('\n').map((line) => line.trim()));
}

/** Each reason, and each case of one, with its German sentence. */
const everyRefusal = (): (readonly [reason: string, kind: string | undefined, sentence: string])[] => [
  ...Object.entries(german.refusals).map(([reason, sentence]) => [reason, undefined, sentence] as const),
  ...Object.entries(german.refusalCases).flatMap(([reason, cases]) =>
    Object.entries(cases).map(([kind, sentence]) => [reason, kind, sentence] as const),
  ),
];

describe('the windows in German', () => {
  it('are whole at 320 px, in German throughout, and say to a screen reader that they are', async () => {
    expect(foreign.size).toBeGreaterThan(300);
    const { page, complaints } = await open('de', 'activity');
    for (const [hash, sign, opener] of screens) {
      await goTo(page, hash, sign, opener);
      const where = `${hash} ${sign}`;
      expect(await page.locator('html').getAttribute('lang')).toBe('de');
      expect(await overflowing(page), where).toEqual([]);
      expect(
        [...(await linesOf(page))].filter((line) => foreign.has(line)),
        where,
      ).toEqual([]);
      await page.keyboard.press('Escape');
    }
    expect(complaints).toEqual([]);
  });

  it('show no sentence of the broker in any state, and none of the English catalogue', async () => {
    const shown = deskStates.filter((state) => !/-(?:long|large|500|200)$/.test(state.name));
    expect(shown.length).toBeGreaterThan(100);
    const spoken = chooseLanguage(['de'], 'de');
    const { page, show } = await openStatePage(await windowsChromium(), { spoken }, inBrokersWords);
    onTestFinished(() => page.close());
    for (const state of shown) {
      await show(state);
      const lines = await linesOf(page);
      expect(
        [...lines].filter((line) => line.includes(brokersWords) || foreign.has(line)),
        state.name,
      ).toEqual([]);
    }
  });

  it('say each reason of a refusal and each case of it, and what a server said as it said it', async () => {
    let refusal: Refusal = { reason: 'internal', message: brokersWords };
    const { page } = await openWindow({
      answer: async (channel, params) =>
        channel === 'grant.list' ? { ok: false, refusal } : exampleAnswer()(channel, params),
      hash: 'servers',
      spoken: chooseLanguage(['de'], 'de'),
    });
    const refused = page.locator('.refused');
    const told = new Set<string>();
    for (const [reason, kind, sentence] of everyRefusal()) {
      const common = { reason, message: brokersWords, hint: brokersWords, rule: brokersWords };
      const facts = { said: '"no": "Not this one."', expected: 'anna' };
      refusal = { ...common, facts, ...(kind === undefined ? {} : { case: kind as Case }) };
      await page.evaluate(`window.dispatchEvent(new Event('focus'))`);
      await refused.getByText(sentence, { exact: true }).waitFor();
      const text = await refused.innerText();
      expect(text).not.toContain(brokersWords);
      expect(text).toContain(`${german.refusalFacts.said} "no": "Not this one."`);
      expect(text).toContain(`${german.refusalFacts.expected} anna`);
      told.add(sentence);
    }
    expect(told.size).toBe(everyRefusal().length);
    // For a report there is what the broker said, folded.
    await refused.locator('summary').click();
    expect(await refused.locator('details [lang=en]').first().innerText()).toBe(brokersWords);
  });

  it('say each cause of a sign-in, what became of each revocation, and each trouble of a refresh', async () => {
    const texts: [fields: object, text: string][] = [
      ...signInCauses.map((cause): [object, string] => [
        { state: 'loginRequired', why: brokersWords, cause },
        german.servers.causes[cause] ?? '',
      ]),
      [{ state: 'loginRequired', why: brokersWords, cause: 'newer' }, german.servers.causeUnknown],
      ...(['confirmed', 'pending', 'notOffered', 'abandoned'] as const).map((receipt): [object, string] => [
        { state: 'revoked', receipt },
        german.receipts[receipt] ?? '',
      ]),
      ...Object.entries(german.servers.troubles).map(([reason, text = '']): [object, string] => [
        { trouble: { reason, since: exampleNow, nextTryAt: exampleNow } },
        text,
      ]),
    ];
    const { grants: [first] = [] } = (await exampleAnswer()('grant.list', {}).then((answer) =>
      answer.ok ? answer.value : {},
    )) as { readonly grants?: readonly object[] };
    let fields: object = {};
    const { page } = await openWindow({
      answer: async (channel, params) =>
        channel === 'grant.list'
          ? { ok: true, value: { grants: [{ ...first, ...fields }] } }
          : exampleAnswer()(channel, params),
      hash: 'servers/g1',
      spoken: chooseLanguage(['de'], 'de'),
    });
    for (const [change, text] of texts) {
      expect(text).not.toBe('');
      fields = change;
      await page.evaluate(`window.dispatchEvent(new Event('focus'))`);
      await page.locator('article').getByText(text).waitFor();
      expect(await page.locator('body').innerText()).not.toContain(brokersWords);
    }
  });

  it('write numbers and times as the country does', async () => {
    const { page } = await open('de-AT', 'activity');
    await page.locator('.entry').first().waitFor();
    expect(await page.locator('time').first().getAttribute('title')).toMatch(/^\w+, \d+\. \w+ \d{4}/);
  });

  it('are English where no catalogue has the language of the system', async () => {
    const { page } = await open('fr-FR', 'servers');
    await page.getByRole('tab', { name: english.tabs.servers }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('en');
  });
});
