/** A permission that ends while the broker's token for its program is on its way to the proxies' process. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { after } from '../../src/ipc/wire/timer.ts';
import { Programs } from '../../src/proxy/programs.ts';
import { startRig } from '../ipc/rig.ts';
import { tokenDispatch } from '../support/token-broker.ts';

async function protectedServer(): Promise<{ readonly resource: string; readonly tokens: string[] }> {
  const tokens: string[] = [];
  const server: Server = createServer((request, response) => {
    tokens.push(request.headers.authorization ?? 'none');
    const isFirst = tokens.length === 1 && request.url === '/refusing';
    response.writeHead(isFirst ? 401 : 200).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return { resource: `http://127.0.0.1:${port}`, tokens };
}

interface End {
  /** The method in whose answer the permission ends; afterwards the broker refuses. */
  readonly dies: 'token.get' | 'token.reject' | 'token.prove';
  readonly type?: 'DPoP';
}

async function scene(path: string, { dies, type }: End) {
  const { resource, tokens } = await protectedServer();
  const url = `${resource}${path}`;
  let isOver = false;
  let programs: Programs | undefined;
  const answer = tokenDispatch(url, {
    tokens: type ? [{ token_type: type }] : [],
    verdict: {
      rejected: true,
      token: {
        access_token: 'secret-late',
        token_type: 'Bearer',
        expires_at: 1_800_000_000,
        expires_in: 3600,
        scope: 'read',
        resource: url,
        account: '',
        issuer: 'https://login.example',
        tokenId: 't9',
      },
    },
  });
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
    admit: async () => ({
      identity,
      socket: rig.socket,
      resource: url,
      agent: { reach: 'anywhere' },
    }),
  });
  const program = await programs.at({ id: 'e', port: 1, path: 'p'.repeat(32) });
  onTestFinished(() => program.close());
  return { tokens, ask: async () => program.fetch(url, { method: 'POST', body: '{}' }) };
}

it('a token that the broker gave before the permission ended does not leave the proxy after its end', async () => {
  const { tokens, ask } = await scene('/mcp', { dies: 'token.get' });
  await expect(ask()).rejects.toMatchObject({ reason: 'not_permitted' });
  expect(tokens).toEqual([]);
});

it('a token that comes for a refused one does not leave the proxy after the permission’s end', async () => {
  const { tokens, ask } = await scene('/refusing', { dies: 'token.reject' });
  await expect(ask()).rejects.toMatchObject({ reason: 'not_permitted' });
  expect(tokens).toEqual(['Bearer secret-1']);
});

it('a bound token whose proof the broker gave before the permission ended does not leave the proxy after its end', async () => {
  const { tokens, ask } = await scene('/mcp', { dies: 'token.prove', type: 'DPoP' });
  await expect(ask()).rejects.toMatchObject({ reason: 'not_permitted' });
  expect(tokens).toEqual([]);
});
