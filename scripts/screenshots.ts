/**
 * `npm run screenshots`: the windows' page, light and dark, as pictures.
 *
 * What they show is invented and written down (test/support/states/states.ts), not a broker's: a real one
 * would show the addresses of a test machine. The page, its style and its policy are the built ones.
 *
 * The letters are Inter, a font made for interfaces (Debian's package fonts-inter).
 *
 *   npm run screenshots                            those of the documents, to docs/images
 *   npm run screenshots -- FOLDER WIDTH            the same to look at, in another width
 *   npm run screenshots -- --every FOLDER WIDTH    every state that a user can meet
 */
import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { BrowserContext } from 'playwright';
import * as z from 'zod';
import { openBrowserProfile } from '../test/support/browsers/browser.ts';
import type { Answer } from '../test/support/electron/window-page.ts';
import build from '../test/support/built.ts';
import { openStatePage } from '../test/support/states/open-state.ts';
import { windowStates, isCardState, type WindowState } from '../test/support/states/states.ts';

const { values, positionals } = parseArgs({
  options: { every: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [given, width] = positionals;
const folder = given ?? path.join(import.meta.dirname, '..', 'docs', 'images');

/** CSS pixels: as electron/windows/windows.ts opens them. A card then gets the height that it asks for. */
const main = { width: 960, height: 680 };
const card = { width: 480, height: 640 };

/** Pixels for each pixel of CSS: most screens have two. */
const pixelRatio = 2;

/** The pictures of the documents: which state each shows. */
const pictures: Readonly<Record<string, string>> = {
  overview: 'overview',
  servers: 'servers',
  apps: 'apps',
  activity: 'activity',
  settings: 'settings-security',
  welcome: 'welcome',
  waiting: 'waiting',
  explain: 'explain',
  card: 'card-allow',
  'card-pair': 'card-pair',
  'card-command': 'card-command',
};

const cardFit = z.object({ height: z.number() });

interface Picture {
  readonly name: string;
  readonly state: WindowState;
}

function chosenPictures(): readonly Picture[] {
  if (values.every) return windowStates.map((state) => ({ name: state.name, state }));
  return Object.entries(pictures).map(([name, wanted]) => {
    const state = windowStates.find((known) => known.name === wanted);
    if (state === undefined) throw new Error(`There is no state ${wanted}.`);
    return { name, state };
  });
}

async function draw(
  context: BrowserContext,
  { name, state }: Picture,
  scheme: 'light' | 'dark',
): Promise<void> {
  let { height } = isCardState(state) ? card : main;
  const listen =
    (answer: Answer): Answer =>
    (channel, params) => {
      if (channel === 'card.fit') height = cardFit.parse(params).height;
      return answer(channel, params);
    };
  // A page for each: its clock begins at the state's own moment.
  const { page, complaints, show, resize } = await openStatePage(context, { scheme }, listen);
  await show(state);
  const first = isCardState(state) ? card : main;
  const columns = width === undefined ? first.width : Number(width);
  await resize({ width: columns, height });
  await resize({ width: columns, height });
  // A picture of a document shows the card as it is answered.
  if (!values.every && isCardState(state)) await page.locator('button.primary:enabled').waitFor();
  await page.screenshot({ path: path.join(folder, `${name}-${scheme}.png`) });
  await page.close();
  if (complaints.length > 0) throw new Error(`${name}: ${complaints.join('; ')}`);
}

if (values.every && given === undefined) throw new Error('Name a folder: docs/images has only a selection.');
if (!execFileSync('fc-match', ['Inter'], { encoding: 'utf8' }).startsWith('Inter'))
  throw new Error('The font Inter is missing. On Debian: apt-get install fonts-inter');
build();
await mkdir(folder, { recursive: true });
const profile = await openBrowserProfile({
  ca: '',
  origins: [],
  pixelRatio,
  fonts: path.join(import.meta.dirname, 'screenshots.fonts.conf'),
});
try {
  for (const picture of chosenPictures()) {
    for (const scheme of ['light', 'dark'] as const) await draw(profile.page.context(), picture, scheme);
  }
} finally {
  await profile.close();
}
