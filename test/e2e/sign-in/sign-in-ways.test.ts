/** Ways to sign in besides the browser on this machine, and the document that stands for Keyturn. */
import { describe, expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { type TestHome, until } from '../../support/home.ts';
import { questionsAt } from '../../support/homes/ask-broker.ts';
import { allow, startBroker } from '../../support/homes/owner-acts.ts';

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
