/** What a page in a window of ours can't do, however hostile. Runs over the double and on the real Electron. */
import { describe, expect, it } from 'vitest';
import { newHome } from '../support/home.ts';
import { ask, binary, onlyPage, openApp } from './rig.ts';

/** What the page tries, what becomes of it, as text, and the script that tries; it runs in the page's own world. */
const outcomes: readonly (readonly [what: string, outcome: RegExp, script: string])[] = [
  [
    'run a script that stands in the page',
    /^undefined$/,
    `
    const script = document.createElement('script');
    script.textContent = 'window.ran = true';
    document.head.append(script);
    return String(window.ran);`,
  ],
  [
    'run a script that an attribute holds',
    /^undefined$/,
    `
    document.body.insertAdjacentHTML('beforeend', '<button id="hostile" onclick="window.ran = true">x</button>');
    document.getElementById('hostile').click();
    document.getElementById('hostile').remove();
    return String(window.ran);`,
  ],
  [
    'run a script of another origin',
    /^refused$/,
    `
    const script = document.createElement('script');
    script.src = 'https://elsewhere.example/x.js';
    document.head.append(script);
    return new Promise((done) => { script.onload = () => done('ran'); script.onerror = () => done('refused'); });`,
  ],
  [
    'show what a style in the page says',
    /^(?!77px)/,
    `
    const style = document.createElement('style');
    style.textContent = 'body { margin-top: 77px !important; }';
    document.head.append(style);
    const { marginTop } = getComputedStyle(document.body);
    style.remove();
    return marginTop;`,
  ],
  [
    'show what an attribute says of style',
    /^(?!77px)/,
    `
    document.body.insertAdjacentHTML('beforeend', '<p id="hostile" style="margin-top: 77px">x</p>');
    const { marginTop } = getComputedStyle(document.getElementById('hostile'));
    document.getElementById('hostile').remove();
    return marginTop;`,
  ],
  [
    'start a worker of a text',
    /^refused$/,
    `
    const url = URL.createObjectURL(new Blob(['postMessage(1)'], { type: 'text/javascript' }));
    return new Promise((done) => {
      try {
        const worker = new Worker(url);
        worker.onmessage = () => done('ran');
        worker.onerror = () => done('refused');
      } catch (error) { done('refused'); }
    });`,
  ],
  [
    'send a form away',
    /^stayed$/,
    `
    const form = document.createElement('form');
    form.action = 'https://elsewhere.example/';
    form.method = 'post';
    document.body.append(form);
    const before = location.href;
    form.submit();
    await new Promise((done) => setTimeout(done, 100));
    form.remove();
    return location.href === before ? 'stayed' : 'left';`,
  ],
  [
    'make code of a text',
    /^EvalError$/,
    `
    // Later, as a page's script would: what a test evaluates itself is exempt.
    return new Promise((done) => setTimeout(() => {
      try { done(String(eval('1'))); } catch (error) { done(error.name); }
    }));`,
  ],
  [
    'fetch from outside',
    /^TypeError$/,
    `return fetch('https://elsewhere.example/').then(() => 'got', (error) => error.name);`,
  ],
  [
    'load an image from outside',
    /^refused$/,
    `
    const image = new Image();
    image.src = 'https://elsewhere.example/x.png';
    return new Promise((done) => { image.onload = () => done('got'); image.onerror = () => done('refused'); });`,
  ],
  [
    'show another page in a frame',
    /^(?!https:\/\/elsewhere)/,
    `
    const frame = document.createElement('iframe');
    frame.src = 'https://elsewhere.example/';
    document.body.append(frame);
    await new Promise((done) => setTimeout(done, 100));
    try { return frame.contentDocument?.URL ?? 'hidden'; } finally { frame.remove(); }`,
  ],
  [
    'open a window',
    /^(null|true|false)$/,
    `return String(window.open('https://a.example/')?.closed ?? null);`,
  ],
  ['reach Node', /^(undefined ?){3}$/, `return [typeof require, typeof process, typeof module].join(' ');`],
  ['reach more', /^call locale onChange$/, `return Object.keys(window.keyturn).sort().join(' ');`],
  ['replace the bridge', /^function$/, `try { keyturn = {}; } catch {} return typeof window.keyturn.call;`],
  [
    'know where the user is',
    /^refused 1$/,
    `return new Promise((done) =>
    navigator.geolocation.getCurrentPosition(() => done('here'), (error) => done('refused ' + error.code)));`,
  ],
  [
    'hear the user',
    /^refused$/,
    `return navigator.mediaDevices.getUserMedia({ audio: true }).then(() => 'heard', () => 'refused');`,
  ],
  [
    'read what the user copied',
    /^refused$/,
    `return navigator.clipboard.readText().then(() => 'read', () => 'refused');`,
  ],
];

describe(`a page in our window (${binary === undefined ? 'over the double' : 'in Electron'})`, () => {
  it('is asked and answered over the bridge, and can’t get past it', async () => {
    const page = await onlyPage(await openApp(newHome()));
    const status = await ask(page, 'status', {});
    expect(status).toMatchObject({ ok: true, value: { vault: 'memory' } });

    for (const [what, expected, script] of outcomes) {
      const outcome: unknown = await page.evaluate(`(async () => { ${script} })()`);
      expect(String(outcome), what).toMatch(expected);
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
