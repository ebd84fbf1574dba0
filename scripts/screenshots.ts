/**
 * `npm run screenshots`: every screen of the windows' page, light and dark, as pictures in docs/images/.
 *
 * What they show is invented and written down (test/support/homes/example-desk.ts), not a broker's: a real one
 * would show the addresses of a test machine. The page, its style and its policy are the built ones.
 *
 * The letters are Inter, a font made for interfaces (Debian's package fonts-inter).
 *
 *   npm run screenshots                        as they stand in docs/images
 *   npm run screenshots -- FOLDER WIDTH        to look at, in another width
 *   npm run screenshots -- --language=de FOLDER    in another language
 */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { BrowserContext, Page } from 'playwright-core';
import { openBrowserProfile } from '../test/support/browsers/browser.ts';
import build from '../test/support/built.ts';
import {
  exampleAnswer,
  exampleNow,
  exampleQuestions,
  exampleStatus,
} from '../test/support/homes/example-desk.ts';
import { openPage } from '../test/support/electron/window-page.ts';
import type { Answer } from '../test/support/electron/window-page.ts';
import { chooseLanguage } from '../words/language.ts';
import { smallPng } from './small-png.ts';

const { values, positionals } = parseArgs({
  options: { language: { type: 'string', default: 'en' } },
  allowPositionals: true,
});
const [folder = path.join(import.meta.dirname, '..', 'docs', 'images'), width] = positionals;
const spoken = chooseLanguage([values.language], values.language);

/** As electron/windows/windows.ts opens them. */
const main = { width: 960, height: 720 };
const card = { width: 480, height: 700 };

interface Screen {
  readonly name: string;
  readonly hash: string;
  /** What is there once it is read. */
  readonly sign: string;
  readonly size?: typeof main;
  readonly answer?: Answer;
  /** Down to its end, not only what fits the window. */
  readonly isWhole?: boolean;
  readonly prepare?: (page: Page) => Promise<void>;
}

const asking = (kind: keyof typeof exampleQuestions): Answer =>
  exampleAnswer({ 'interaction.list': { interactions: [exampleQuestions[kind]] } });

const cardOf = (kind: keyof typeof exampleQuestions, name: string): Screen => ({
  name,
  hash: 'card',
  sign: 'button.primary:enabled',
  size: card,
  answer: asking(kind),
});

const locked = exampleAnswer({
  status: { ...exampleStatus, vaultState: { state: 'locked', since: exampleNow - 600 } },
  'interaction.list': { interactions: [exampleQuestions.allow, exampleQuestions.pair] },
});

const screens: readonly Screen[] = [
  { name: 'overview', hash: 'overview', sign: '.node' },
  { name: 'servers', hash: 'servers', sign: 'article' },
  { name: 'programs', hash: 'programs', sign: 'article' },
  { name: 'activity', hash: 'activity', sign: '.entry' },
  { name: 'settings', hash: 'settings/security', sign: '#vault-title' },
  { name: 'welcome', hash: 'welcome', sign: '.steps', size: { width: 960, height: 860 } },
  { name: 'waiting', hash: 'servers', sign: '.waiting', answer: locked },
  {
    name: 'explain',
    hash: 'servers/g1',
    sign: 'article',
    prepare: async (page) => {
      await page.getByRole('button', { name: /^Details/ }).click();
      await page.locator('.timeline li').first().waitFor();
    },
  },
  cardOf('allow', 'card'),
  cardOf('pair', 'card-pair'),
  cardOf('command', 'card-command'),
];

async function shoot(context: BrowserContext, screen: Screen, scheme: 'light' | 'dark'): Promise<void> {
  const { name, hash, sign, size = main, answer = exampleAnswer(), isWhole = false } = screen;
  const later = exampleNow - Math.floor(Date.now() / 1000);
  const wide = width === undefined ? size : { ...size, width: Number(width) };
  const { page, complaints } = await openPage(context, { answer, hash, scheme, later, spoken, ...wide });
  await page.locator(sign).first().waitFor();
  await screen.prepare?.(page);
  const picture = await page.screenshot({ fullPage: isWhole });
  await writeFile(path.join(folder, `${name}-${scheme}.png`), smallPng(picture));
  await page.close();
  if (complaints.length > 0) throw new Error(`${name}: ${complaints.join('; ')}`);
}

if (!execFileSync('fc-match', ['Inter'], { encoding: 'utf8' }).startsWith('Inter'))
  throw new Error('The font Inter is missing. On Debian: apt-get install fonts-inter');
build();
await mkdir(folder, { recursive: true });
const profile = await openBrowserProfile({
  ca: '',
  origins: [],
  fonts: path.join(import.meta.dirname, 'screenshots.fonts.conf'),
});
try {
  for (const screen of screens) {
    for (const scheme of ['light', 'dark'] as const) await shoot(profile.page.context(), screen, scheme);
  }
} finally {
  await profile.close();
}
