/** A proxy's permission that ends: what is on its way to or at the server, and its connections. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { after } from '../../src/ipc/wire/timer.ts';
import { Programs, type ProgramParts } from '../../src/proxy/programs.ts';
import { startRig } from '../ipc/rig.ts';
import { tokenDispatch } from '../support/token-broker.ts';

async function protectedServer() {
  const tokens: string[] = [];
  const server: Server = createServer((request, response) => {
    tokens.push(request.headers.authorization ?? 'none');
    response.writeHead(200).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { resource: `http://127.0.0.1:${port}`, tokens, server };
}

interface End {
  /** The method in whose answer the permission ends; afterwards the broker refuses. */
  readonly dies: 'token.get' | 'token.prove';
  readonly type?: 'DPoP';
}

async function scene(path: string, { dies, type }: End) {
  const { resource, tokens } = await protectedServer();
  const url = `${resource}${path}`;
  let isOver = false;
  let programs: Programs | undefined;
  const answer = tokenDispatch(url, { tokens: type ? [{ token_type: type }] : [] });
  const rig = await startRig({
    dispatch: async (caller, method, params) => {
      if (isOver) throw new KeyturnError('not_permitted', 'the permission ended');
      const given = await answer(caller, method, params);
      if (method === dies) {
        isOver = true;
        await programs?.cut(caller.appId);
      }
      return given;
    },
  });
  const identity = rig.enrol();
  programs = new Programs({
    after,
    admit: async () => ({ identity, socket: rig.socket, resource: url, agent: { reach: 'anywhere' } }),
  });
  const program = await programs.at({ id: 'e', port: 1, path: 'p'.repeat(32) });
  onTestFinished(() => program.close());
  return { tokens, ask: async () => program.fetch(url, { method: 'POST', body: '{}' }) };
}

it.each<[string, string, End, readonly string[]]>([
  ['a token', '/mcp', { dies: 'token.get' }, []],
  ['a proof of a bound token', '/mcp', { dies: 'token.prove', type: 'DPoP' }, []],
])(
  '%s that is given before the end of a permission does not leave after it',
  async (_what, path, end, sent) => {
    const { tokens, ask } = await scene(path, end);
    await expect(ask()).rejects.toMatchObject({ reason: 'not_permitted' });
    expect(tokens).toEqual(sent);
  },
);

it('connections to servers end with the last program that uses them', async () => {
  const { resource, server } = await protectedServer();
  const ended: number[] = [];
  server.on('connection', (socket) => socket.once('close', () => ended.push(1)));
  const rig = await startRig({ dispatch: tokenDispatch(resource) });
  const admit: ProgramParts['admit'] = async () => ({
    identity: rig.enrol(),
    socket: rig.socket,
    resource,
    agent: { reach: 'anywhere' },
  });
  const programs = new Programs({ after, admit });
  const [first, last] = await Promise.all(
    ['a', 'b'].map(async (id) => programs.at({ id, port: 1, path: 'p'.repeat(32) })),
  );
  const ask = async () => (await last?.fetch(resource))?.text();
  await ask();
  await programs.forget(first?.appId ?? '');
  await ask();
  expect(ended).toEqual([]);
  await programs.keep([]);
  await vi.waitFor(() => expect(ended).toEqual([1]));
});
