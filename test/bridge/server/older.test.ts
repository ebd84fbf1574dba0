/** The bridge in front of a server that speaks the older transport alone. */
import { expect, it } from 'vitest';
import { olderServer } from '../../support/servers/older-server.ts';
import { bridged } from '../rig.ts';

it('BR-13: uses the older transport if the newer is refused, with a token', async () => {
  const server = await olderServer();
  const { client, said } = await bridged(server.url);
  expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] });
  expect(server.requests).toContain('GET /sse Bearer secret-1');
  expect(server.requests).toContain('POST /messages Bearer secret-1');
  expect(said).toEqual([]);
});

it('resends what changes nothing, and gives calls their error', async () => {
  const server = await olderServer();
  const { client, said } = await bridged(server.url);
  const calls = [1, 2].map(async () => client.callTool({ name: 'hold' }));
  for (const call of calls) call.catch(() => undefined);
  const posts = (): string[] => server.requests.filter((line) => line.startsWith('POST /messages'));
  await expect.poll(() => posts().length).toBe(4);
  server.silence();
  const listing = client.listTools();
  await expect.poll(() => posts().length).toBe(5);
  server.drop();
  for (const call of calls) await expect(call).rejects.toMatchObject({ data: { outcome: 'may have run' } });
  expect((await listing).tools.map(({ name }) => name)).toEqual(['hello', 'hold']);
  expect(new Set(server.sessions).size).toBe(2);
  expect(server.ran.filter((name) => name === 'hold')).toHaveLength(2);
  expect(said).toHaveLength(2);
});

it('BR-5: begins a new session if the server forgot its own, and resends the call', async () => {
  const server = await olderServer();
  const { client, said } = await bridged(server.url);
  await expect.poll(() => server.sessions.length).toBe(2);
  server.forget();
  expect(await client.callTool({ name: 'hello' })).toMatchObject({ content: [{ text: 'hello' }] });
  expect(server.ran).toEqual(['hello']);
  expect(new Set(server.sessions).size).toBe(2);
  expect(said).toEqual([]);
});
