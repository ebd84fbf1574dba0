/**
 * Every state of the windows (test/support/states/states.ts), in a real Chromium: whole at every width, in the light
 * and in the dark, and open to everybody. The soak looks at the variants too, and asks axe at each width.
 */
import { expect, it, onTestFinished } from 'vitest';
import { stateFaults } from '../support/states/state-faults.ts';
import { openStatePage } from '../support/states/open-state.ts';
import { windowStates, isVariant } from '../support/states/states.ts';
import { windowsChromium } from '../support/browsers/windows-chromium.ts';

const states = windowStates.filter((state) => !isVariant(state));

/** So that a busy machine gets through each within a test's time. */
const parts = 4;
const partLength = Math.ceil(states.length / parts);

it.each(Array.from({ length: parts }, (_, at) => at + 1))(
  'each state of the windows is whole at each width, without a fault (part %i of 4)',
  async (part) => {
    const opened = await openStatePage(await windowsChromium());
    onTestFinished(() => opened.page.close());
    const faults: string[] = [];
    // Neighbours share their lists: the page goes from one to the next without being loaded.
    for (const state of states.slice((part - 1) * partLength, part * partLength)) {
      await opened.show(state);
      faults.push(...(await stateFaults(opened, state, 'once')));
    }
    expect(faults).toEqual([]);
  },
);
