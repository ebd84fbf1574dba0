/** Hundreds of servers and programs: what is made at once, and what is drawn anew. */
import { expect, it } from 'vitest';
import type { ResultOn } from '../../electron/bridge/channels.ts';
import { exampleAnswer } from '../support/homes/example-desk.ts';
import { windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

type Grant = ResultOn<'signIn.list'>['signIns'][number];

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const serverOf = (n: number, fields: Partial<Grant> = {}): Grant => {
  const endpoint = `https://server-${n}.example/mcp`;
  return {
    id: `g${n}`,
    resource: endpoint,
    endpoint,
    issuer: 'https://login.example',
    scope: 'notes:read',
    state: 'active',
    exceptions: [],
    apps: ['editor'],
    ...fields,
  };
};

it('500 servers and 200 apps are shown some at a time, and all are found by the filter', async () => {
  const { page } = await openWindow({
    hash: 'servers',
    answer: exampleAnswer({
      'signIn.list': { signIns: many(500).map((n) => serverOf(n)) },
      'app.list': {
        apps: many(200).map((n) => ({
          appId: `c${n}`,
          name: `program-${n}`,
          pairedAt: 1,
          permissions: [],
        })),
      },
    }),
  });
  const rows = page.locator('.pick');
  await page.getByText('500 servers').waitFor();
  expect(await rows.count()).toBe(30);
  await page.getByRole('button', { name: 'Show more' }).scrollIntoViewIfNeeded();
  await expect.poll(() => rows.count()).toBeGreaterThan(30);
  expect(await rows.count()).toBeLessThan(150);
  await page.getByLabel('Filter servers').fill('server-499.');
  await page.getByText('1 server', { exact: true }).waitFor();
  expect(await rows.count()).toBe(1);
  await page.evaluate('location.hash = "programs"');
  await page.getByText('200 apps').waitFor();
  await page.getByLabel('Filter apps').fill('program-199');
  await expect.poll(() => rows.count()).toBe(1);
});
