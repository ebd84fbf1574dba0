/** One page that shows one state of the windows after another. */
import type { BrowserContext } from 'playwright';
import { window as words } from '../../../words/en/window.ts';
import { exampleLater } from '../homes/example-desk.ts';
import { drawn, openPage, settled, type Answer, type WindowOptions } from '../electron/window-page.ts';
import { answerIn, isCardState, type WindowState } from './states.ts';

/** CSS pixels. */
interface Size {
  readonly width: number;
  readonly height: number;
}

/** As electron/windows/windows.ts opens them. */
const mainSize: Size = { width: 960, height: 680 };
const cardSize: Size = { width: 480, height: 640 };

export async function openStatePage(
  context: BrowserContext,
  options: Pick<WindowOptions, 'scheme'> = {},
  /** What the broker answers in place of what the state says. */
  change: (answer: Answer) => Answer = (answer) => answer,
) {
  let shown = nothing;
  let isLoaded = false;
  const { page, complaints, load } = await openPage(context, {
    ...options,
    answer: (channel, params) => change(answerIn(shown))(channel, params),
    hash: shown.hash,
    later: exampleLater(),
  });
  return {
    page,
    /** As of `openPage`. A reader empties it. */
    complaints,
    /** Ends when the page is drawn in its new size, with what it changed for that. */
    resize: async (size: Size) => {
      await page.setViewportSize(size);
      await page.evaluate(`${drawn}()`);
    },
    /** Opens the state, in the size that its window has at first. Nothing of the state before it is left. */
    show: async (state: WindowState) => {
      const before = shown;
      const goTo = async (next: WindowState): Promise<void> => {
        shown = next;
        await page.evaluate(`location.hash = ${JSON.stringify(next.hash)}`);
        await page.evaluate(settled);
      };
      await page.setViewportSize(isCardState(state) ? cardSize : mainSize);
      if (isLoaded && leadsTo(before, state)) {
        await goTo(state);
      } else if (isLoaded && isReadAnew(before, state)) {
        for (const next of [nothing, state]) {
          await goTo(next);
          await page.evaluate(`window.dispatchEvent(new Event('keyturn-change'))`);
          await page.evaluate(settled);
        }
      } else {
        shown = state;
        isLoaded = true;
        await load(state.hash);
      }
      await page.evaluate(
        `document.documentElement.style.fontSize = '${state.isLarge === true ? '200%' : ''}'`,
      );
      // A list that comes in between would move the button away from under the press.
      if (state.press !== undefined) await page.evaluate(settled);
      for (const pressed of state.press ?? []) {
        const found =
          typeof pressed === 'string'
            ? page.locator(pressed)
            : page.getByRole('button', { name: anyArguments(pressed(words)) });
        // What comes into view counts as seen, which may move the button away from under the press.
        await found.first().scrollIntoViewIfNeeded();
        await page.evaluate(settled);
        await found.first().click();
      }
      for (const [field, text] of state.type ?? []) await page.locator(field).first().fill(text);
      await page
        .locator(state.sign)
        .first()
        .waitFor()
        .catch(async (cause: unknown) => {
          const text = await page.locator('body').innerText();
          throw new Error(`${state.name} does not show ${state.sign}: ${text}`, { cause });
        });
    },
  };
}

export type StatePage = Awaited<ReturnType<typeof openStatePage>>;

/** The window of cards without one: nothing of a view or a card outlasts it. */
const nothing: WindowState = { name: 'nothing', hash: 'card', sign: '.empty' };

/**
 * True where a user in the main window comes from one state to the other by a click on a tab or a row: all lists are
 * the same, and nothing was pressed or typed.
 */
function leadsTo(from: WindowState, to: WindowState): boolean {
  const isSame = from.lists === to.lists && from.refused === to.refused && from.isLarge === to.isLarge;
  return isSame && [from, to].every((state) => !isCardState(state) && !state.press && !state.type);
}

/** What may be answered otherwise in a page that is shown already: everything that is drawn from it is drawn anew. */
const redrawn: ReadonlySet<string> = new Set(['request.list', 'status']);

/** Calls that a press makes: a list whose reading is refused would stand there as it was read before. */
const pressCalls = new Set<string>(['signIn.show', 'signIn.revoke', 'request.answer', 'card.answer']);

/** True where the page needn't be loaded anew, which costs three times as much as two views. */
function isReadAnew(from: WindowState, to: WindowState): boolean {
  if ([from, to].some(({ refused = [] }) => refused.some((call) => !pressCalls.has(call)))) return false;
  const [before, after]: Readonly<Record<string, unknown>>[] = [from.lists ?? {}, to.lists ?? {}];
  const names = Object.keys({ ...before, ...after });
  return names.every((name) => redrawn.has(name) || before?.[name] === after?.[name]);
}

/** A message as a pattern: its arguments stand for any text. */
function anyArguments(message: string): RegExp {
  const [first = '', ...rest] = message
    .split(/\{[^}]*\}/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${[first, ...rest].join('.*')}$`);
}
