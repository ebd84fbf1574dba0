/** An address that an MCP server wants opened: who may show one, which ones, how often, and what an answer does. */
import { describe, expect, it } from 'vitest';
import type { UrlRequest } from '../../src/broker/shown-urls.ts';
import { brokerRig, inWorld, refusal, turnOfEvents } from './rig.ts';
import { worldOfFile } from './places.ts';

const world = worldOfFile();

const url = 'https://pay.example/checkout?order=7#top';
const message = 'Pay for your notes';

/** `editor` may reach the MCP server, and nobody follows what opens. */
async function ground({ isAllowed = true } = {}) {
  const rig = await brokerRig(inWorld(world));
  rig.person.isThere = false;
  if (isAllowed) await rig.allow();
  const { signal } = new AbortController();
  const usual = { appId: 'editor', resource: rig.endpoint, url, message, signal };
  return {
    ...rig,
    show: (request: Partial<UrlRequest> = {}) => rig.broker.showUrl({ ...usual, ...request }),
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turnOfEvents();
}

describe('an address', () => {
  it('is a card with the server’s words, and opens only after approval', async () => {
    const { show, question, parts, opened, endpoint } = await ground();
    const shown = show();
    const { id, question: card } = await question('url');
    expect(card).toEqual({ kind: 'url', appId: 'editor', appName: 'editor', endpoint, url, message });
    expect(opened).toEqual([]);
    parts.approvalRequests.answer(id, 'approve');
    expect(await shown).toBe('accept');
    expect(opened).toEqual([url]);
  });

  it.each([
    ['deny', 'decline'],
    ['dismiss', 'cancel'],
  ] as const)('of a server does not open after the answer %s', async (answer, action) => {
    const { show, question, parts, opened } = await ground();
    const shown = show();
    parts.approvalRequests.answer((await question('url')).id, answer);
    expect(await shown).toBe(action);
    expect(opened).toEqual([]);
    expect(await refusal(show())).toHaveProperty('hint', 'Wait, then ask again.');
  });
});

describe('a program', () => {
  it('can show no address of a server that it may not reach', async () => {
    const { show, parts, allow, endpoint } = await ground({ isAllowed: false });
    expect(await refusal(show())).toMatchObject({
      reason: 'consent_required',
      hint: `Allow it with: keyturn app allow editor ${endpoint}`,
    });
    await allow('editor', undefined, `${endpoint}/elsewhere`);
    expect(await refusal(show())).toMatchObject({ reason: 'consent_required' });
    expect(parts.approvalRequests.list()).toEqual([]);
  });

  it('has one address on a card at a time, and a few that wait', async () => {
    const { show, question, parts, opened, allow } = await ground();
    const addresses = [1, 2, 3, 4, 5].map((page) => `https://pay.example/${page}`);
    const shown = addresses.map((address) => show({ url: address }));
    expect(await refusal(show())).toMatchObject({ reason: 'rate_limited' });
    for (const [index] of addresses.entries()) {
      await until(() => opened.length === index && parts.approvalRequests.list().length === 1);
      parts.approvalRequests.answer((await question('url')).id, 'approve');
      expect(await shown[index]).toBe('accept');
    }
    expect(opened).toEqual(addresses);
    // Another program is not held up.
    await allow('agent');
    void show();
    void show({ appId: 'agent' });
    await until(() => parts.approvalRequests.list().length === 2);
  });
});

describe('what is shown', () => {
  it.each([
    ['http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/x'],
    ['https://p\u0430y.example/', 'https://xn--py-7kc.example/'],
  ])('an address is shown in the spelling that the browser gets: %s', async (asked, spelled) => {
    const { show, question } = await ground();
    void show({ url: asked });
    expect((await question('url')).question).toMatchObject({ url: spelled });
  });

  it.each([
    ['javascript:alert(1)', 'neither https'],
    ['file:///etc/passwd', 'neither https'],
    ['keyturn-app://main/', 'neither https'],
    ['http://pay.example/', 'neither https'],
    ['https://user:hunter2@pay.example/', 'before its host'],
    ['/relative', 'no absolute URL'],
    ['https://pay.example/a b', 'characters'],
    ['https://pay.example/\u202egpj', 'characters'],
  ])('this address is never shown: %j', async (address, problem) => {
    const { show, parts } = await ground();
    const error = await refusal(show({ url: address }));
    expect(error).toMatchObject({ reason: 'insecure_url', message: expect.stringContaining(problem) });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(String(error)).not.toContain('hunter2');
    expect(parts.approvalRequests.list()).toEqual([]);
  });
});
