/** What a program of a proxy could keep of an access that ended. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSharedHome } from '../../support/bent/home.ts';
import type { SharedHome } from '../../support/bent/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { allowedProxy, call, nextCard, proxied, refusalOf } from './proxy-rig.ts';

let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterAll(() => shared.close());

type Proxied = Awaited<ReturnType<typeof proxied>>;

/** The server's next answer begins when it is told to, and has no end. */
function endlessAnswer({ protectedServer, url }: Pick<Proxied, 'protectedServer' | 'url'>) {
  const [asked, begun, over] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  onTestFinished(() => over.resolve());
  const reply = {
    headers: { 'content-type': 'text/event-stream' },
    async *body() {
      yield 'data: one\n\n';
      await over.promise;
    },
  };
  protectedServer.server.on('POST', new URL(url).pathname, async ({ headers }) => {
    // The broker asks it, too, without a token.
    if (headers.authorization === undefined) return undefined;
    asked.resolve();
    await begun.promise;
    return reply;
  });
  return { asked: asked.promise, begin: () => begun.resolve() };
}

describe('an answer of the server by a proxy', () => {
  it('doesn’t reach an app that was denied before it began', async () => {
    const there = await allowedProxy({ shared });
    const { asked, begin } = endlessAnswer(there);
    const calling = call(there.proxy.url);
    await asked;
    await owner.deny(there.home, there.client, there.url);
    // By then the process of the proxies knows.
    expect((await call(there.proxy.url)).status).toBe(403);
    begin();
    expect(await refusalOf(await calling)).toEqual({ status: 403, id: 7, reason: 'not_permitted' });
  });

  it('ends with a denial if the app had been allowed for one token', async () => {
    const there = await proxied({ shared });
    const { begin } = endlessAnswer(there);
    begin();
    const calling = call(there.proxy.url);
    const { id, app: client } = await nextCard(there.home);
    await askBroker(there.home, 'request.answer', { id, answer: 'yes', lease: { once: true } });
    const reader = (await calling).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    await owner.deny(there.home, client, there.url);
    await expect(reader?.read()).rejects.toThrow();
  });
});
