/**
 * `@keyturn/server`: the check of a request whose signature isn't remembered, beside jose alone; and the requests a second of a
 * protected handler, beside the same one open to all.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import process from 'node:process';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { z } from 'zod';
import { guarded, issuer } from '../guarded.ts';
import { ended, fileHere, started } from '../process.ts';
import { inTurn, isSmoke, type Measurement, microseconds, type Row } from '../row.ts';

export const server: Measurement = {
  name: 'server',
  measure: async () => [await check(), await throughput()],
};

async function check(): Promise<Row> {
  const resource = 'http://127.0.0.1/mcp';
  const { guard, token, jwk } = await guarded(resource, { cacheSeconds: 0 });
  const incoming = {
    method: 'GET',
    url: new URL(resource),
    headers: new Headers({ authorization: `Bearer ${token}` }),
    connection: { isEncrypted: false, address: '127.0.0.1' },
    readBody: async () => new Uint8Array(),
  };
  const keys = createLocalJWKSet({ keys: [jwk] });
  const ours = async (): Promise<void> => {
    if ((await guard.check(incoming)).kind !== 'passed') throw new Error('the token was rejected');
  };
  const options = { issuer, audience: resource, typ: 'at+jwt' };
  const figures = await inTurn(7, {
    ours: async () => microseconds(1500, ours),
    jose: async () => microseconds(1500, async () => jwtVerify(token, keys, options)),
  });
  return { what: 'the check of a token in `@keyturn/server`', unit: 'µs', ...figures, goals: { jose: 1.3 } };
}

const Handlers = z.object({ bare: z.string(), behind: z.string(), token: z.string() });

async function throughput(): Promise<Row> {
  const { child, line } = await started(process.execPath, [fileHere('handlers.ts')], process.env);
  const { bare, behind, token } = Handlers.parse(JSON.parse(line));
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const figures = await inTurn(7, {
    ours: async () => rateOf(async () => call(behind, token, agent)),
    'bare handler': async () => rateOf(async () => call(bare, token, agent)),
  });
  agent.destroy();
  await ended(child);
  return {
    what: 'requests to a protected handler, 16 at once',
    unit: '/s',
    ...figures,
    goals: { 'bare handler': 0.8 },
  };
}

async function rateOf(ask: () => Promise<void>): Promise<number> {
  const count = isSmoke ? 16 : 2000;
  const from = performance.now();
  await Promise.all(Array.from({ length: count }, ask));
  return (count * 1000) / (performance.now() - from);
}

const params = { name: 'echo', arguments: {} };
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });

async function call(url: string, token: string, agent: Agent): Promise<void> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const sent = request(url, { method: 'POST', agent, headers }).end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  await once(answer.resume(), 'end');
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
}
