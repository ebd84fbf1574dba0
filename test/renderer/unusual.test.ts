/**
 * What is rare with a real broker: troubles, receipts, locks, cards with everything on them. The answers are written
 * down.
 */
import { describe, expect, it } from 'vitest';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { attestedEditor } from '../support/homes/example-askers.ts';
import { emptyStatus as status, exampleLater } from '../support/homes/example-desk.ts';
import { openDetails, type PageWindow, windowsOfTests } from './page-window.ts';
import { answering, grant, hour, inHours, type Lists, now, program, question } from './written-lists.ts';

const openWindow = windowsOfTests();

const show = (lists: Lists, hash: string, asked?: [unknown, unknown][]): Promise<PageWindow> =>
  openWindow({ answer: answering(lists, asked), hash, later: exampleLater() });

/** Everything that the broker may have to say of a grant that isn't in order. */
const troubled: Lists = {
  'signIn.list': {
    signIns: [
      grant({
        state: 'signInRequired',
        why: 'the sign-in was not finished',
        trouble: {
          reason: 'authorization_server_unreachable',
          since: now - 2 * hour,
          nextTryAt: inHours(5),
        },
        attempt: { startedAt: now - 3 * hour, lost: 'broker' },
      }),
      grant({
        id: 'a2',
        state: 'revoked',
        receipt: 'pending',
        nextTry: inHours(10),
        triedUntil: inHours(48),
        liveUntil: inHours(20),
        endedAt: now - 60,
      }),
      grant({
        id: 'a5',
        state: 'active',
        trouble: { reason: 'client_rejected', since: now - hour, nextTryAt: inHours(1) },
      }),
      grant({ id: 'a3', state: 'revoked', receipt: 'notOffered' }),
      grant({ id: 'a4', state: 'revoked', receipt: 'abandoned' }),
    ],
  },
  'app.list': {
    apps: [
      program({
        permissions: [
          {
            resource: 'https://notes.example/mcp',
            scope: 'notes:read notes:write',
            decision: 'allow',
            run: { verified: true, pid: 4711 },
            until: inHours(2),
          },
        ],
      }),
    ],
  },
  'settings.get': {
    settings: {},
    details: [{ name: 'lockAfter', source: 'default', live: false }],
    keyturnApp: 'running',
  },
  status: {
    ...status,
    vault: 'sealed-file',
    vaultKey: 'passphrase',
    vaultState: { state: 'locked', since: now - 60 },
    clocks: [{ issuer: 'https://login.example', ahead: -75 }],
    unshielded: ['A crash may leave a file with Keyturn’s memory.'],
    audit: { why: 'The audit log can’t be written (ENOSPC).', waiting: 3, lost: 0 },
    log: { level: 'info', file: '/state/broker.log', ok: false },
    unreadable: [{ file: '/state/authority.json', why: 'Its MAC is wrong.' }],
  },
};

describe('what is out of the ordinary', () => {
  it('stands on the grant: troubles with their next try, a lost refresh, every receipt', async () => {
    const { page, complaints } = await show(troubled, 'servers');
    const rows = page.locator('.pick');
    await rows.first().waitFor();
    let servers = '';
    let retries = 0;
    const marks: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      await rows.nth(at).click();
      await page.locator(`li:nth-child(${at + 1}) > .pick[aria-current=true]`).waitFor();
      servers += await page.locator('article').innerText();
      retries += await page.getByRole('button', { name: 'Retry revocation…' }).count();
      marks.push(...(await page.locator('article .mark').allInnerTexts()));
    }
    for (const part of [
      'Sign in again: the sign-in was not finished',
      'the sign-in provider can’t be reached. It first failed 2 hours ago',
      'next try in 5 hours',
      'Keyturn stopped during a renewal',
      'Pending: the sign-in provider could not be reached yet',
      'Next try: in 10 hours',
      'Tried until: in 2 days',
      'works until: in 20 hours',
      'The sign-in provider offers no revocation',
      'Keyturn has stopped trying',
    ]) {
      expect(servers).toContain(part);
    }
    expect(retries).toBe(1);
    // Nothing is green beside a trouble: the one that is active still has one.
    expect(marks.toSorted()).toEqual([
      'Can’t renew',
      ...Array.from({ length: 3 }, () => 'Revoked'),
      'Sign-in required',
    ]);
    await page.evaluate('location.hash = "programs"');
    await page.getByText('Until the app quits (process 4711), at the latest in 2 hours').waitFor();
    // Nothing on the wire narrows a permission for one run without making it a lasting one.
    await page
      .getByRole('button', { name: /^Manage access of/ })
      .first()
      .click();
    expect(await page.getByRole('dialog').getByRole('checkbox').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('stands in the settings: clocks, shield, logs, files, and what counts only later', async () => {
    const asked: [unknown, unknown][] = [];
    const lists = { ...troubled, 'settings.set': { inForce: 'nextStart' } };
    const { page } = await show(lists, 'settings/security', asked);
    await page.locator('#vault-title').waitFor();
    let settings = await page.locator('main').innerText();
    await page.getByRole('button', { name: 'Advanced Needs attention' }).click();
    await page.locator('#broker-title').waitFor();
    settings += await page.locator('main').innerText();
    for (const part of [
      'a sealed file, opened by a passphrase',
      'is 75 s behind this computer',
      'A crash may leave a file with Keyturn’s memory.',
      '3 rows wait in memory: The audit log can’t be written (ENOSPC).',
      'could not be written',
      'Its MAC is wrong.',
      'after restart',
    ]) {
      expect(settings).toContain(part);
    }
    await page.getByRole('button', { name: 'Security', exact: true }).click();
    await page.getByLabel('Lock automatically after').selectOption('900');
    await page.getByText('The change takes effect once Keyturn starts again.').waitFor();
    expect(asked).toEqual([]);
  });

  it('a locked vault is unlocked from every view, and no field keeps the passphrase', async () => {
    const asked: [unknown, unknown][] = [];
    const { page } = await show(troubled, 'activity', asked);
    await page.getByText('Keyturn is locked.').waitFor();
    await page.getByRole('button', { name: 'Unlock' }).click();
    const passphrase = page.getByLabel('Passphrase');
    expect(await passphrase.evaluate((field) => field.matches(':focus'))).toBe(true);
    await passphrase.fill('open sesame');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(asked).toEqual([['vault.unlock', { passphrase: 'open sesame' }]]);
    await page.evaluate('location.hash = "settings/security"');
    await page.getByText('Change the passphrase').first().click();
    await page.getByLabel('Current passphrase').fill('open sesame');
    await page.getByLabel('New passphrase').fill('open barley');
    await page.getByRole('button', { name: 'Change the passphrase' }).click();
    expect(await page.getByLabel('New passphrase').inputValue()).toBe('');
    await expect
      .poll(() => asked.at(-1))
      .toEqual(['vault.passphrase', { current: 'open sesame', next: 'open barley' }]);
    expect(await page.content()).not.toContain('open ');
  });
});

describe('a card', () => {
  it('has the facts about who asks, and a changed issuer at a sign-in', async () => {
    const requests = [
      question({
        asker: attestedEditor,
      }),
      question({
        id: 'q2',
        kind: 'device',
        issuer: 'https://login.example',
        formerIssuer: 'https://old-login.example',
        code: 'WDJB-MJHT',
        url: 'javascript:alert(1)',
      }),
    ];
    const { page } = await show({ 'request.list': { requests } }, 'card/q1');
    const card = page.locator('.question');
    await card.waitFor();
    await openDetails(page);
    for (const part of ['/usr/bin/editor', '4711', 'tmux']) {
      expect(await card.innerText()).toContain(part);
    }
    await page.evaluate('location.hash = "card/q2"');
    await page.getByText('Enter this code to sign in').waitFor();
    const text = await card.innerText();
    for (const part of [
      'WDJB-MJHT',
      'https://old-login.example',
      'Continue only if you expected this change.',
    ]) {
      expect(text).toContain(part);
    }
    expect(await page.content()).not.toContain('javascript:');
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
