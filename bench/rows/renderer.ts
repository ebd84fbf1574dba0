/** The app's window with 500 grants, 200 programs and 50,000 audit rows, beside a window with few: its first paint, its frames. */
import type { Answer, WindowPage } from '../../test/support/electron/window-page.ts';
import { isSmoke } from '../form.ts';
import { inTurn, itself, type Measurement, type Row } from '../row.ts';
import { type CrowdedDesk, crowdedDesk } from '../window.ts';

export const renderer: Measurement = {
  name: 'renderer',
  rows: ['renderer-paint', 'renderer-scroll'],
  async measure({ world }) {
    const crowd = isSmoke
      ? { grants: 3, programs: 3, rows: 50 }
      : { grants: 500, programs: 200, rows: 50_000 };
    const shown = `window with ${crowd.grants} grants, ${crowd.programs} programs, ${crowd.rows} audit rows`;
    const desk = await crowdedDesk(await world(), crowd);
    try {
      return [
        await paint(desk, shown, isSmoke ? 1 : 9),
        await scroll(desk, shown, isSmoke ? [1, 100] : [5, 4000]),
      ];
    } finally {
      await desk.close();
    }
  },
};

async function paint({ page, answers }: CrowdedDesk, crowd: string, turns: number): Promise<Row> {
  const painted = async (answer: Answer): Promise<number> => {
    const window = await page.open({ answer, hash: 'servers' });
    return window.page.evaluate<number>(firstRows);
  };
  const figures = await inTurn(turns, {
    ours: async () => painted(answers.much),
    'three grants': async () => painted(answers.little),
  });
  return {
    name: 'renderer-paint',
    what: `${crowd}: from the start of its load until its first rows are painted`,
    unit: 'ms',
    ...figures,
    goals: [{ of: itself, atMost: 300 }],
  };
}

/** Asks for the time of the paint after the first rows came: the frame that has them is drawn before its timers run. */
const firstRows = `new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector('.pick')) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  };
  look();
})`;

async function scroll(
  { page, answers }: CrowdedDesk,
  crowd: string,
  [turns, time]: readonly [number, number],
): Promise<Row> {
  const longest = async (pixels: number): Promise<number> =>
    Math.max(
      await longestFrame(page, answers.much, { hash: 'servers', row: '.pick' }, framesOf(pixels, time)),
      await longestFrame(page, answers.much, { hash: 'activity', row: '.rows > li' }, framesOf(pixels, time)),
    );
  const figures = await inTurn(turns, {
    ours: async () => longest(120),
    'standing still': async () => longest(0),
  });
  return {
    name: 'renderer-scroll',
    what: `${crowd}: the longest frame while its servers and its activity are scrolled through`,
    unit: 'ms',
    ...figures,
    goals: [{ of: itself, atMost: 50 }],
  };
}

async function longestFrame(
  { open }: WindowPage,
  answer: Answer,
  { hash, row }: Readonly<Record<'hash' | 'row', string>>,
  frames: string,
): Promise<number> {
  const { page } = await open({ answer, hash });
  await page.locator(row).first().waitFor();
  return page.evaluate<number>(frames);
}

/** So many milliseconds of frames, in each of which all that scrolls goes on by so many pixels; answers the longest, in milliseconds. */
const framesOf = (pixels: number, time: number): string => `new Promise((resolve) => {
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowY);
  const scrolling = [document.scrollingElement, ...[...document.querySelectorAll('body *')].filter(scrolls)];
  const end = performance.now() + ${time};
  let [last, longest] = [0, 0];
  const frame = (now) => {
    if (last > 0) longest = Math.max(longest, now - last);
    last = now;
    if (now > end && longest > 0) return resolve(longest);
    for (const element of scrolling) element.scrollBy(0, ${pixels});
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;
