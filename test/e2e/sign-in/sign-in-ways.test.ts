/** Ways to sign in besides the browser on this machine, and the document that stands for Keyturn. */
import { describe, expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { type Running, type TestHome, until } from '../../support/home.ts';
import { questionsAt } from '../../support/homes/ask-broker.ts';
import { allow, startBroker, tokenAt } from '../../support/homes/owner-acts.ts';

/** The one question that waits, as another process sees it. */
async function onlyQuestion(home: TestHome, kind: string) {
  const question = await until(`a question of kind ${kind}`, async () => {
    const waiting = await questionsAt(home);
    return waiting.length === 1 && waiting[0]?.kind === kind ? waiting[0] : undefined;
  });
  const { id, code = '', url = '' } = question;
  return { id, code, url };
}

describe('login --device', () => {
  const device = { authorization: { deviceAuthorization: true } } as const;

  it('B-27: signs in by a code, which only the user sees', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld(device);
    await startBroker(home);
    await allow(home, 'cli', url);
    const signingIn = home.start(['login', url, '--device', '--account', 'elsewhere', '--json']);
    const { code, url: page } = await onlyQuestion(home, 'device');
    expect(code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(await home.ok(['request', 'list'])).toContain(`enter ${code} at`);

    // A program that asks at the same time gets a token by the browser here, and not a letter of the code.
    const other = await home.keyturn(['token', url]);
    expect(other.code).toBe(0);
    expect(other.stdout + other.stderr).not.toContain(code);

    await signingIn.says(`enter ${code}\n${page}\n`);
    authorizationServer.approveDevice(code);
    const { code: exit, stdout } = await signingIn.ended;
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ account: 'elsewhere', state: 'active', scope: 'read' });
    expect(authorizationServer.counts.devicePolls).toBeGreaterThan(0);
    const [request] = authorizationServer.server.asked('/device_authorization');
    expect(request?.form.get('resource')).toBe(url);
  });
});

describe('login --paste', () => {
  /** A sign-in that waits for an address, and where a browser elsewhere ends. */
  async function waiting(there: Awaited<ReturnType<typeof homeInBentWorld>>) {
    const { home, url, world } = there;
    const signingIn: Running = home.start(['login', url, '--paste'], { stdinStaysOpen: true });
    await signingIn.says('paste that whole address here:');
    const { url: page } = await onlyQuestion(home, 'signIn');
    await signingIn.says(page);
    const reply = await world.fetch(page, { redirect: 'manual' });
    const address = new URL(reply.headers.get('location') ?? '');
    expect(address.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    return { signingIn, address };
  }

  it('B-26: takes the address of a browser elsewhere, and refuses wrong ones', async () => {
    const there = await homeInBentWorld();
    const { home, url, authorizationServer } = there;
    const { signingIn, address } = await waiting(there);
    signingIn.types('https://evil.example/callback?code=1');
    await signingIn.says('That is not the address a sign-in ends at');
    const foreign = new URL(address);
    foreign.searchParams.set('state', 'another');
    signingIn.types(foreign.href);
    await signingIn.says('That address belongs to another sign-in');
    signingIn.types(`"${address.href}" `);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 0, stdout: '' });
    expect(run.stderr).toContain('reason: state_mismatch');
    const code = address.searchParams.get('code') ?? '';
    expect(code.length).toBeGreaterThan(10);
    expect(run.stderr).not.toContain(code);
    // One visit, which was this test's: no browser was opened.
    expect(authorizationServer.counts).toMatchObject({ authorizations: 1, codesRedeemed: 1 });
    await allow(home, 'cli', url);
    await tokenAt(home, url);
  });
});
