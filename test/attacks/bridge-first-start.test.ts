/** The first start of an entry of the bridge, while the broker dies under its questions. */
import { expect, it } from 'vitest';
import { homeInWorld } from '../support/home.ts';
import { questionOf } from '../support/homes/ask-broker.ts';
import { clientOf } from '../support/processes/bridge-client.ts';

it('asks the next broker if the first was killed, and uses its answers', async () => {
  const { home, world, resource } = await homeInWorld();
  await home.ok(['sign-in', 'list']);
  const start = clientOf(home, resource, '--as', 'an-editor');
  start.catch(() => undefined);
  const { id: first } = await questionOf(home, 'pair');
  process.kill((await home.brokerPid()) ?? 0, 'SIGKILL');
  const { id: second } = await questionOf(home, 'pair');
  expect(second).not.toBe(first);
  await home.ok(['request', 'approve', second]);
  await home.ok(['request', 'approve', (await questionOf(home, 'allow')).id]);
  // On a busy machine all that may take the bridge's 20 seconds: then the client starts it again, and nothing is asked.
  const { client } = await start.catch(() => clientOf(home, resource, '--as', 'an-editor'));
  expect((await client.listTools()).tools).toHaveLength(2);
  expect(world.counts().authorizationServer.signIns).toBe(1);
});
