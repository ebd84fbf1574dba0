/** The bridge in front of a server that speaks the older transport alone. */
import { expect, it } from 'vitest';
import { olderServer } from '../../support/servers/older-server.ts';
import { bridged } from '../rig.ts';

it('uses the older transport where the newer is refused, with a token where the server wants its messages', async () => {
  const server = await olderServer();
  const { client, said } = await bridged(server.url);
  expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] });
  expect(server.requests).toContain('GET /sse Bearer secret-1');
  expect(server.requests).toContain('POST /messages Bearer secret-1');
  expect(said).toEqual([]);
});

it('says of a call whose stream broke that it may have run, and begins a new session for the next', async () => {
  const server = await olderServer();
  const { client } = await bridged(server.url);
  const call = client.callTool({ name: 'hold' });
  call.catch(() => undefined);
  await expect.poll(() => server.requests.filter((line) => line.startsWith('POST /messages')).length).toBe(3);
  server.drop();
  await expect(call).rejects.toThrow(/may have run/);
  expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] });
  expect(server.requests.filter((line) => line.startsWith('GET /sse')).length).toBe(2);
});
