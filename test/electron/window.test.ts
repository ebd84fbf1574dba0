/** What a page in a window of ours can't do, however hostile. Runs over the double and on the real Electron. */
import { describe, expect, it } from 'vitest';
import { newHome } from '../support/home.ts';
import { ask, binary, openApp } from './rig.ts';

/** What the page did, as text; it runs in the page's own world. */
const outcomes = {
  'run a script that stands in the page': `
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.head.append(script);
    return String(window.ran);`,
  'make code of a text': `
    // Later, as a page's script would: what a test evaluates itself is exempt.
    return new Promise((done) => setTimeout(() => {
      try { done(String(eval('1'))); } catch (error) { done(error.name); }
    }));`,
  'fetch from outside': `return fetch('https://elsewhere.example/').then(() => 'got', (error) => error.name);`,
  'load an image from outside': `
    const image = new Image();
    image.src = 'https://elsewhere.example/x.png';
    return new Promise((done) => { image.onload = () => done('got'); image.onerror = () => done('refused'); });`,
  'show another page in a frame': `
    const frame = document.createElement('iframe');
    frame.src = 'https://elsewhere.example/';
    document.body.append(frame);
    await new Promise((done) => setTimeout(done, 100));
    try { return frame.contentDocument?.URL ?? 'hidden'; } finally { frame.remove(); }`,
  'open a window': `return String(window.open('https://elsewhere.example/')?.closed ?? null);`,
  'reach Node': `return [typeof require, typeof process, typeof module].join(' ');`,
  'reach more than the bridge': `return Object.keys(window.keyturn).sort().join(' ');`,
  'replace the bridge': `try { window.keyturn = {}; } catch {} return typeof window.keyturn.call;`,
  'know where the person is': `return new Promise((done) =>
    navigator.geolocation.getCurrentPosition(() => done('here'), (error) => done('refused ' + error.code)));`,
} as const;

const expected: Readonly<Record<keyof typeof outcomes, RegExp>> = {
  'run a script that stands in the page': /^undefined$/,
  'make code of a text': /^EvalError$/,
  'fetch from outside': /^TypeError$/,
  'load an image from outside': /^refused$/,
  'show another page in a frame': /^(?!https:\/\/elsewhere)/,
  'open a window': /^(null|true|false)$/,
  'reach Node': /^undefined undefined undefined$/,
  'reach more than the bridge': /^call onChange$/,
  'replace the bridge': /^function$/,
  'know where the person is': /^refused 1$/,
};

describe(`a page in a window of ours (${binary === undefined ? 'over the double' : 'in Electron'})`, () => {
  it('is asked and answered over the bridge, and can’t get past it', async () => {
    const { page } = await openApp(newHome());
    const status = await ask(page, 'status', {});
    expect(status).toMatchObject({ ok: true, value: { vault: 'memory' } });

    for (const [what, script] of Object.entries(outcomes)) {
      const outcome: unknown = await page.evaluate(`(async () => { ${script} })()`);
      expect(String(outcome), what).toMatch(expected[what as keyof typeof outcomes]);
    }
    // Leaving: the page stays what it is.
    const before = page.url();
    for (const away of ['https://elsewhere.example/', 'file:///etc/passwd', 'data:text/html,<p>']) {
      await page.evaluate((url) => void Object.assign(globalThis, { location: url }), away);
      await page.evaluate('new Promise((done) => setTimeout(done, 50))');
      expect(page.url(), away).toBe(before);
    }
    expect(
      page
        .context()
        .pages()
        .filter((other) => other.url().includes('elsewhere')),
    ).toEqual([]);
    expect(await ask(page, 'status', {})).toMatchObject({ ok: true });
  });
});
