/**
 * What servers and programs may send at worst, and what is rare with a real broker.
 *
 * The answers here are written down, not a broker's: past its schemas no real one lets such texts
 * through, and the page must stand by itself.
 */
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../electron/bridge/channels.ts';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { attestedEditor, differingIndex, hostileAsker } from '../support/homes/example-desk.ts';
import { emptyStatus as status, examplePreferences } from '../support/homes/example-desk.ts';
import { type Answer, overflowing, type PageWindow, windowsOfOneBrowser } from './page-window.ts';

const openWindow = windowsOfOneBrowser();

type Lists = Readonly<Record<string, unknown>>;
const now = Math.floor(Date.now() / 1000);
const hour = 3600;

/** So many hours to come, and a quarter: they are told in whole ones, and a test takes a while. In seconds. */
const inHours = (hours: number): number => now + hours * hour + hour / 4;

const nothing: Lists = {
  'grant.list': { grants: [] },
  'client.list': { clients: [] },
  'interaction.list': { interactions: [] },
  'audit.activity': { hours: [], uses: [] },
  'audit.tail': { rows: [] },
  'key.list': { keys: [] },
  'registration.list': { registrations: [] },
  'settings.get': { settings: {}, details: [], desk: 'here' },
  'preferences.get': examplePreferences,
  'card.shown': {},
  'card.fit': {},
  status,
};

/** Answers with what is written down; `asked` gets the rest. */
function answering(lists: Lists, asked: [unknown, unknown][] = []): Answer {
  const known: Lists = { ...nothing, ...lists };
  return async (channel, params): Promise<Envelope<unknown>> => {
    const value = typeof channel === 'string' ? known[channel] : undefined;
    if (value === undefined) asked.push([channel, params]);
    return { ok: true, value: value ?? {} };
  };
}

const show = (lists: Lists, hash: string, asked?: [unknown, unknown][]): Promise<PageWindow> =>
  openWindow({ answer: answering(lists, asked), hash });

const grant = (fields: object): object => ({
  id: 'a1',
  resource: 'https://notes.example/mcp',
  endpoint: 'https://notes.example/mcp',
  issuer: 'https://login.example',
  account: 'alice',
  scope: 'notes:read',
  state: 'active',
  overrides: [],
  clients: ['editor'],
  ...fields,
});

const program = (fields: object): object => ({
  clientId: 'c1',
  name: 'editor',
  pairedAt: now - 1000,
  permissions: [],
  ...fields,
});

const question = (fields: object): object => ({
  id: 'q1',
  kind: 'allow',
  client: 'editor',
  resource: 'https://notes.example/mcp',
  scope: 'notes:read',
  createdAt: now,
  state: 'open',
  ...fields,
});

const override = '\u202egnitfihs\u202c';
const hostile = [
  ['markup', '<img src=x onerror="window.wasHit = true"><script>window.wasHit = true</script>'],
  ['10,000 characters', 'W'.repeat(10_000)],
  ['a direction override', `https://good.example/${override}elpmaxe.live`],
  ['emoji and joiners', '👩‍💻🏳️‍🌈 🔑'],
  ['piled marks', `n${'\u0301\u0489'.repeat(200)}otes`],
  ['control characters and lines', 'one\u0000\u0007\ntwo\u2028three\ttab'],
  ['another host before the real one', 'https://good.example@evil.example/'],
  ['nothing', ''],
] as const;

const texts: readonly string[] = hostile.map(([, text]) => text);

/** RFC 6749 has no space in a scope's name; everything else may come. */
const scopeOf = (text: string): string => text.replace(/\s/g, '_');

const entered = { source: 'preregistered', authMethod: 'none', registeredAt: now };

const hostileLists: Lists = {
  'grant.list': {
    grants: texts.map((text, at) =>
      grant({
        id: `g${at}`,
        resource: `${text}/`,
        endpoint: text,
        issuer: text,
        account: text,
        scope: scopeOf(text),
        state: text,
        clients: [text],
        trouble: { reason: text, since: now - 2 * hour, nextTryAt: inHours(1) },
      }),
    ),
  },
  'client.list': {
    clients: texts.map((text, at) =>
      program({
        clientId: `c${at}`,
        name: text,
        executable: text,
        permissions: [{ resource: text, scope: `${scopeOf(text)} two`, decision: 'allow' }],
      }),
    ),
  },
  'interaction.list': {
    interactions: texts.flatMap((text, at) => {
      const common = { client: text, resource: text, asker: hostileAsker(text) };
      const page = { id: `u${at}`, kind: 'url', server: text, url: text, message: text };
      return [question({ ...common, id: `q${at}`, scope: scopeOf(text) }), question({ ...common, ...page })];
    }),
  },
  'audit.tail': {
    rows: texts.map((text) => ({
      time: now * 1000,
      event: text,
      outcome: text,
      client: text,
      endpoint: text,
      issuer: text,
      scope: [scopeOf(text)],
    })),
  },
  'audit.activity': {
    hours: [],
    uses: texts.map((text) => ({ client: text, endpoint: text, last: now * 1000, handedOut: [1, 2] })),
  },
  'registration.list': {
    registrations: texts.map((text) => ({ ...entered, issuer: text, clientId: text, redirectUri: text })),
  },
  'settings.get': {
    settings: Object.fromEntries(texts.map((text, at) => [`setting${at}`, text])),
    details: [],
  },
  status: {
    ...status,
    vault: override,
    home: override,
    unreadable: texts.map((text) => ({ file: text, why: text })),
    overrides: texts.map((server) => ({ server, names: ['no-resource'] })),
    vaultState: { state: override, since: now, what: override, hint: override },
  },
};

const hostileViews = [
  ['overview', '.node'],
  ['activity', '.entry'],
  ['settings/security', '.permission'],
  ['settings/providers', '.permission'],
  ['settings/advanced', '#broker-title'],
  ['servers', '.pick'],
  ['programs', '.pick'],
  ...texts.flatMap((_text, at) => [
    [`servers/g${at}`, 'article'] as const,
    [`programs/c${at}`, 'article'] as const,
    [`card/q${at}`, '.question'] as const,
    [`card/u${at}`, '.question'] as const,
  ]),
] as const;

describe('hostile texts', () => {
  it('are shown bounded, escaped and as text, in every field', async () => {
    const { page, complaints } = await show(hostileLists, 'servers');
    for (const [hash, sign] of hostileViews) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.locator(sign).first().waitFor();
      await page.evaluate(`document.querySelectorAll('details').forEach((details) => (details.open = true))`);
      for (const width of [320, 800, 1440]) {
        await page.setViewportSize({ width, height: 700 });
        expect(await overflowing(page), `${hash} at ${width} px`).toEqual([]);
      }
      const shown = await page.evaluate<string>(`document.body.innerText + [...document.querySelectorAll('*')]
        .flatMap((element) => [...element.attributes].map(({ value }) => value)).join(' ')`);
      expect(shown, hash).not.toMatch(/[\u0000-\u0008\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/);
      // A card cuts nothing that the wire lets through; past that it does.
      expect(shown, hash).not.toContain('W'.repeat(hash.startsWith('card') ? 9000 : 1000));
      expect(shown, hash).not.toMatch(/\p{M}{4}/u);
      // An address that says one host and means another has none set off.
      expect(await page.locator('strong', { hasText: /^good\.example$/ }).count()).toBe(0);
    }
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(await page.evaluate('window.wasHit')).toBe(undefined);
    expect(complaints).toEqual([]);
  });

  it('a hostile text in a refusal is text as well', async () => {
    const message = `<b onclick="x">bold</b> ${override} ${'x'.repeat(5000)}`;
    const refusing: Answer = async (channel) =>
      channel === 'grant.list'
        ? {
            ok: false,
            refusal: { reason: 'internal', message, hint: message, rule: message, retryAfter: 60 },
          }
        : answering({})(channel, {});
    const { page } = await openWindow({
      answer: refusing,
      hash: 'servers',
      width: 320,
    });
    const alert = page.getByRole('alert');
    await alert.waitFor();
    const text = await alert.innerText();
    expect(text).toContain('<b onclick="x">bold</b> \\u{202e}');
    expect(text).toContain('in 1 minute');
    expect(text.length).toBeLessThan(2200);
    expect(await overflowing(page)).toEqual([]);
  });
});

/** Everything that the broker may have to say of a grant that isn't in order. */
const troubled: Lists = {
  'grant.list': {
    grants: [
      grant({
        state: 'loginRequired',
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
  'client.list': {
    clients: [
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
    desk: 'here',
  },
  status: {
    ...status,
    vault: 'sealed-file',
    vaultKey: 'passphrase',
    vaultState: { state: 'locked', since: now - 60, what: 'You locked it.', hint: 'Unlock it here.' },
    clocks: [{ issuer: 'https://login.example', ahead: -75 }],
    unshielded: ['This process can be traced.'],
    audit: { state: 'failing', reason: 'disk_full' },
    log: { level: 'info', file: '/state/daemon.log', ok: false },
    index: differingIndex,
    unreadable: [{ file: '/state/clients.json', why: 'Its MAC is wrong.' }],
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
      'Keyturn stopped during a refresh',
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
      ...Array.from({ length: 3 }, () => 'Access revoked'),
      'No new token',
      'Sign-in needed',
    ]);
    await page.evaluate('location.hash = "programs"');
    await page.getByText('For this session of the app (process 4711), at the latest in 2 hours').waitFor();
    // Nothing on the wire narrows a permission for one run without making it a lasting one.
    expect(await page.getByRole('button', { name: /^Reduce/ }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('stands in the settings: clocks, shield, logs, files, and what counts only later', async () => {
    const asked: [unknown, unknown][] = [];
    const lists = { ...troubled, 'settings.set': { inForce: 'nextStart' } };
    const { page } = await show(lists, 'settings/security', asked);
    await page.locator('#vault-title').waitFor();
    let settings = await page.locator('main').innerText();
    await page.getByRole('button', { name: 'Advanced Read this' }).click();
    await page.locator('#broker-title').waitFor();
    settings += await page.locator('main').innerText();
    for (const part of [
      'a sealed file, opened by a passphrase',
      'Unlock it here.',
      'is 75 s behind this computer',
      'This process can be traced.',
      'can’t be written: disk_full',
      'could not be written',
      'Its MAC is wrong.',
      '2 grants compared with the vault',
      'It named another issuer.',
      '7 more',
      'after restart',
    ]) {
      expect(settings).toContain(part);
    }
    await page.getByRole('button', { name: 'Security', exact: true }).click();
    await page.getByLabel('Lock after idle').selectOption('900');
    await page.getByText('The change takes effect once Keyturn starts again.').waitFor();
    expect(asked).toEqual([]);
  });

  it('and a locked vault is unlocked from every view, by a passphrase that stays in no field', async () => {
    const asked: [unknown, unknown][] = [];
    const { page } = await show(troubled, 'activity', asked);
    await page.getByText('The vault is locked.').waitFor();
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

  it('a wrong passphrase leaves its field too', async () => {
    const refusal = { reason: 'locked', message: 'That was not the passphrase.' };
    const { page } = await openWindow({
      hash: 'servers',
      answer: async (channel, params) =>
        channel === 'vault.unlock' ? { ok: false, refusal } : answering(troubled)(channel, params),
    });
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByLabel('Passphrase').fill('open barley');
    await page.keyboard.press('Enter');
    await page.getByText('That was not the passphrase.').waitFor();
    expect(await page.getByLabel('Passphrase').inputValue()).toBe('');
  });

  it('needs no passphrase where the keychain opens the vault', async () => {
    const asked: [unknown, unknown][] = [];
    const vaultState = { state: 'keychainLocked', since: now, hint: 'Answer your keychain.' };
    const { page } = await show({ status: { ...status, vaultState } }, 'servers', asked);
    await page.getByText('Answer your keychain.').waitFor();
    await page.getByRole('button', { name: 'Unlock' }).click();
    await page.getByText('The vault is open.').waitFor();
    expect(asked).toEqual([['vault.unlock', {}]]);
  });
});

describe('a card', () => {
  it('has the facts of who asks on the card, and a changed issuer on the one of a sign-in', async () => {
    const interactions = [
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
    const { page } = await show({ 'interaction.list': { interactions } }, 'card/q1');
    const card = page.locator('.question');
    await card.waitFor();
    for (const part of ['/usr/bin/editor', 'path verified', '4711', 'tmux']) {
      expect(await card.innerText()).toContain(part);
    }
    await page.evaluate('location.hash = "card/q2"');
    await page.getByText('Enter this code to sign in').waitFor();
    const text = await card.innerText();
    for (const part of [
      'WDJB-MJHT',
      'https://old-login.example',
      'Go on only if you expected this change.',
    ]) {
      expect(text).toContain(part);
    }
    expect(await page.content()).not.toContain('javascript:');
    expect(await accessibilityFaults(page)).toEqual([]);
  });
});
