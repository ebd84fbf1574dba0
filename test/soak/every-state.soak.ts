/**
 * The long form of test/renderer/every-state.test.ts: every state of the windows, variants included, with axe at each width.
 */
import { expect, it } from 'vitest';
import { openBrowserProfile } from '../support/browsers/browser.ts';
import build from '../support/built.ts';
import { openStatePage } from '../support/states/open-state.ts';
import { stateFaults } from '../support/states/state-faults.ts';
import { windowStates } from '../support/states/states.ts';

it('every state is whole and open to everybody at each width', async () => {
  build();
  const profile = await openBrowserProfile({ ca: '', origins: [] });
  const faults: string[] = [];
  try {
    const opened = await openStatePage(profile.page.context());
    for (const state of windowStates) {
      await opened.show(state);
      faults.push(...(await stateFaults(opened, state, 'full')));
    }
  } finally {
    await profile.close();
  }
  expect(faults).toEqual([]);
});
