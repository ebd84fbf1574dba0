/** What is wrong with one state of the windows: its layout at each width, the page's policy, and what axe finds. */
import { accessibilityFaults } from '../browsers/accessibility.ts';
import { layoutFaults } from './layout.ts';
import type { StatePage } from './open-state.ts';
import type { WindowState } from './states.ts';

/** The width at which axe is asked `once`: most of what a page has is shown there, the rest is its own layout. */
const middle = 480;

/** CSS pixels. A window can't be narrower than the first (electron/windows/windows.ts). The page stays at the last. */
const widths = [320, 900, 1440, middle];
const height = 700;

/** At which widths each depth measures the layout, and at which it asks axe. */
const depths = {
  once: { measured: [320, middle], asked: [middle] },
  full: { measured: widths, asked: widths },
} as const;

/**
 * Sentences that begin with the state's name. `depth`: the layout at two widths, and axe once; or both at each width. The
 * state is shown already (`StatePage.show`), in the light.
 */
export async function stateFaults(
  { page, complaints, resize }: StatePage,
  { name }: WindowState,
  depth: keyof typeof depths,
): Promise<string[]> {
  const faults: string[] = [];
  const note = (where: string, found: readonly string[]): void => {
    faults.push(...found.map((fault) => `${name}, ${where}: ${fault}`));
  };
  await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
  const { measured, asked } = depths[depth];
  for (const width of measured) {
    await resize({ width, height });
    note(`${width} px`, await layoutFaults(page));
  }
  // Policy and errors first: axe itself brings styles along.
  note('console', complaints.splice(0));
  for (const width of asked) {
    await resize({ width, height });
    note(`light, ${width} px`, await accessibilityFaults(page));
    await page.emulateMedia({ colorScheme: 'dark' });
    note(`dark, ${width} px`, await accessibilityFaults(page, ['color-contrast']));
    await page.emulateMedia({ colorScheme: 'light' });
  }
  complaints.length = 0;
  return faults;
}
