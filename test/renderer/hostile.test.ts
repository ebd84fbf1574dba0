/** The worst that servers and apps may send. No broker lets such texts through; the page must not depend on that. */
import { describe, expect, it } from 'vitest';
import {
  ahead,
  emptyStatus as status,
  exampleLater,
  exampleNow as now,
  exampleQuestions,
  hour,
} from '../support/homes/example-desk.ts';
import { clientOf, empty, signInOf, type Lists } from '../support/states/lists.ts';
import { hostileProcess } from '../support/states/questions.ts';
import { answerIn } from '../support/states/states.ts';
import { layoutFaults } from '../support/states/layout.ts';
import { type Answer, type PageWindow, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const { allow } = exampleQuestions;

const answering = (lists: object): Answer => answerIn({ lists });

const show = (lists: object, hash: string): Promise<PageWindow> =>
  openWindow({ answer: answering(lists), hash, later: exampleLater() });

const override = '\u202egnitfihs\u202c';
const hostile = [
  ['markup', '<img src=x onerror="window.wasHit = true"><script>window.wasHit = true</script>'],
  ['20,000 characters', 'W'.repeat(20_000)],
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

const hostileLists: { readonly [name in keyof Lists]: object } = {
  'signIn.list': {
    signIns: texts.map((text, at) =>
      signInOf({
        id: `g${at}`,
        resource: `${text}/`,
        endpoint: text,
        issuer: text,
        account: text,
        scope: scopeOf(text),
        state: text,
        apps: [text],
        trouble: { reason: text, since: now - 2 * hour, nextTryAt: ahead(hour) },
      }),
    ),
  },
  'app.list': {
    apps: texts.map((text, at) =>
      clientOf({
        appId: `c${at}`,
        name: text,
        executable: text,
        permissions: [{ resource: text, scope: `${scopeOf(text)} two`, decision: 'allow' }],
      }),
    ),
  },
  'request.list': {
    requests: texts.flatMap((text, at) => {
      const common = { app: text, resource: text, appProcess: hostileProcess(text) };
      const page = { id: `u${at}`, kind: 'url', server: text, url: text, message: text };
      const asked = { ...allow, ...common };
      return [
        { ...asked, id: `q${at}`, scope: scopeOf(text) },
        { ...asked, ...page },
      ];
    }),
  },
  'audit.tail': {
    rows: texts.map((text) => ({
      time: now * 1000,
      event: text,
      outcome: text,
      app: text,
      endpoint: text,
      issuer: text,
      scope: [scopeOf(text)],
    })),
  },
  'audit.activity': {
    hours: [],
    uses: texts.map((text) => ({ app: text, endpoint: text, last: now * 1000, handedOut: [1, 2] })),
  },
  'oauthClient.list': {
    oauthClients: texts.map((text) => ({ ...entered, issuer: text, clientId: text, redirectUri: text })),
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
    exceptions: texts.map((server) => ({ server, names: ['no-resource'] })),
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
  ['apps', '.pick'],
  ...texts.flatMap((_text, at) => [
    [`servers/g${at}`, 'article'] as const,
    [`apps/c${at}`, 'article'] as const,
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
        expect(await layoutFaults(page), `${hash} at ${width} px`).toEqual([]);
      }
      const shown = await page.evaluate<string>(`document.body.innerText + [...document.querySelectorAll('*')]
        .flatMap((element) => [...element.attributes].map(({ value }) => value)).join(' ')`);
      expect(shown, hash).not.toMatch(/[\u0000-\u0008\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/);
      // A card cuts nothing that the wire lets through; past that it does.
      expect(shown, hash).not.toContain('W'.repeat(hash.startsWith('card') ? 17_000 : 1000));
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
      channel === 'signIn.list'
        ? {
            ok: false,
            refusal: { reason: 'internal', message, hint: message, rule: message, retryAfter: 60 },
          }
        : answering(empty)(channel, {});
    const { page } = await openWindow({ answer: refusing, hash: 'servers', width: 320 });
    const alert = page.getByRole('alert');
    await alert.waitFor();
    const text = await alert.innerText();
    expect(text).toContain('<b onclick="x">bold</b> \\u{202e}');
    expect(text).toContain('in 1 minute');
    expect(text.length).toBeLessThan(2200);
    expect(await layoutFaults(page)).toEqual([]);
  });
});
