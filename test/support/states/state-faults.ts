/** What is wrong with one state of the windows: its layout at each width, the page's policy, and what axe finds. */
import { accessibilityFaults } from '../browsers/accessibility.ts';
import { layoutFaults } from './layout.ts';
import type { StatePage } from './open-state.ts';
import type { DeskState } from './states.ts';

/** CSS pixels. A window can't be narrower than the first (electron/windows/windows.ts). */
const widths = [320, 480, 900, 1440];
const height = 700;

/** The width at which axe is asked `once`: most of what a page has is shown there, the rest is its own layout. */
const middle = 480;

/**
 * Sentences that begin with the state's name. `depth`: only the layout, axe once besides, or axe at each width. The
 * state is shown already (`StatePage.show`), in the light.
 */
export async function stateFaults(
  { page, complaints }: StatePage,
  { name }: DeskState,
  depth: 'layout' | 'once' | 'full',
): Promise<string[]> {
  const faults: string[] = [];
  const note = (where: string, found: readonly string[]): void => {
    faults.push(...found.map((fault) => `${name}, ${where}: ${fault}`));
  };
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    note(`${width} px`, await layoutFaults(page));
  }
  // Policy and errors first: axe itself brings styles along.
  note('console', complaints.splice(0));
  for (const width of depth === 'layout' ? [] : depth === 'once' ? [middle] : widths) {
    await page.setViewportSize({ width, height });
    note(`light, ${width} px`, await accessibilityFaults(page));
    await page.emulateMedia({ colorScheme: 'dark' });
    note(`dark, ${width} px`, await accessibilityFaults(page, ['color-contrast']));
    await page.emulateMedia({ colorScheme: 'light' });
  }
  complaints.length = 0;
  return faults;
}
