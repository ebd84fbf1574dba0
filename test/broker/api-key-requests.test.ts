/** Requests for an API key: what the audit log says of one that ran out of time. */
import { expect, it } from 'vitest';
import { worldOfFile } from './places.ts';
import { brokerRig, inWorld, refusal, turnOfEvents } from './rig.ts';

const world = worldOfFile();

it('a request that ran out of time before a card opened is no refusal, and one with a card names it', async () => {
  const { broker, parts, clock, endpoint, question, texts } = await brokerRig(inWorld(world));
  await parts.apiKeys.set({ endpoint, header: 'x-api-key' }, 'aKey', { setAt: 1 });
  const late = async (): Promise<unknown> => {
    const { signal } = new AbortController();
    const asked = {
      appId: 'editor',
      resource: `${endpoint}?a=b`,
      interaction: 'allow',
      timeout: 1,
      signal,
    } as const;
    const asking = refusal(broker.keyRequests.answer(asked));
    await turnOfEvents();
    clock.advance(1);
    return asking;
  };
  const opening = Promise.withResolvers<void>();
  parts.approvalRequests.guardBy(() => opening.promise);
  expect(await late()).toMatchObject({ reason: 'authorization_server_unreachable' });
  await parts.audit.flush();
  expect(texts().join()).not.toContain('refused');
  opening.resolve();
  await question('allow');
  expect(await late()).toMatchObject({ reason: 'consent_pending' });
  await parts.audit.flush();
  expect(texts().join()).toContain('key: consent_pending');
});
