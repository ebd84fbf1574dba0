/** What axe-core finds on a page, for tests of any page. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Page } from 'playwright';

const root = path.join(import.meta.dirname, '..', '..', '..');
const axe = await readFile(path.join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** What axe-core finds, as sentences. `rules`: only these of its rules. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Half a megabyte: once for each page.
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe);
  const options = {
    resultTypes: ['violations'],
    ...(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }),
  };
  return page.evaluate<string[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`,
  );
}
