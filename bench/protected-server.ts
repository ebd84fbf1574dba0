/**
 * A protected server beside the same server without its checks: what the validation of a signed token adds to one request,
 * and how many requests a second are left. The server answers with the protocol's SDK, over plain http, in a process of its
 * own; each client's token is signed with ES256. Prints medians and ratios, asserts nothing: `node bench/protected-server.ts`.
 *
 * `each time` checks the signature of every request (`cacheSeconds: 0`); `kept` is the default, which checks a token once a minute.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { jwt, protectedServer } from '../src/server/index.ts';
import { fetchListener } from '../src/server/node.ts';
import { medianOf } from './median.ts';

const issuer = 'http://127.0.0.1:1';

/** How the server of a process answers. */
const forms = ['open', 'each time', 'kept'] as const;
type Form = (typeof forms)[number];

function handlerOf() {
  return createMcpHandler(() => {
    const server = new McpServer({ name: 'bench', version: '1.0.0' });
    server.registerTool('echo', {}, () => ({ content: [{ type: 'text', text: 'echo' }] }));
    return server;
  });
}

/** The server's process: says its address and a token, and answers until it is ended. */
async function serve(form: Form): Promise<void> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' };
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const resource = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const mcp = handlerOf();
  const guard = protectedServer({
    resource,
    authorizationServers: [issuer],
    tokens: jwt(form === 'each time' ? { cacheSeconds: 0 } : {}),
    operations: { tools: { echo: ['echo'] } },
    fetch: async (input) =>
      Response.json(
        new Request(input).url.endsWith('/keys') ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` },
      ),
  });
  if (form === 'open') {
    // The same way from socket to handler, with checks that let everything pass.
    const open = Object.assign(Object.create(guard) as typeof guard, {
      check: async (incoming: { readBody(max: number): Promise<Uint8Array | undefined> }) => {
        const bytes = await incoming.readBody(4 * 1024 * 1024);
        const body: unknown = JSON.parse(new TextDecoder().decode(bytes));
        return { kind: 'passed', access: { body }, bytes, headers: {} };
      },
    });
    http.on(
      'request',
      fetchListener(open, (one, { body }) => mcp.fetch(one, { parsedBody: body })),
    );
  } else {
    const listener = fetchListener(guard, (one, { authInfo, body }) =>
      mcp.fetch(one, { authInfo, parsedBody: body }),
    );
    http.on('request', listener);
  }
  const token = await new SignJWT({ client_id: 'bench', jti: 't', scope: 'echo' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })
    .setIssuer(issuer)
    .setSubject('bench')
    .setAudience(resource)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
  process.send?.({ resource, token });
}

interface Target {
  readonly resource: string;
  readonly token: string;
}

const body = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'echo', arguments: {} },
});

async function call({ resource, token }: Target, agent: Agent): Promise<void> {
  const sent = request(resource, {
    method: 'POST',
    agent,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': body.length,
      accept: 'application/json, text/event-stream',
    },
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
}

/** Milliseconds of one request after the other. */
async function times(target: Target, rounds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const found: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const from = performance.now();
    await call(target, agent);
    found.push(performance.now() - from);
  }
  agent.destroy();
  return found;
}

/** Requests a second, of sixteen at once. */
async function throughput(target: Target, each: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const from = performance.now();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let n = 0; n < each; n += 1) await call(target, agent);
    }),
  );
  const seconds = (performance.now() - from) / 1000;
  agent.destroy();
  return (16 * each) / seconds;
}

/** Turn by turn, so that a change of the machine's load meets all forms. */
const turns = 5;

async function measure(): Promise<void> {
  const children = forms.map((form) => fork(import.meta.filename, [form]));
  try {
    const targets: Target[] = [];
    for (const child of children) targets.push(((await once(child, 'message')) as [Target])[0]);
    const latencies = forms.map((): number[] => []);
    const rates = forms.map((): number[] => []);
    for (let turn = 0; turn <= turns; turn += 1) {
      for (const [at, target] of targets.entries()) {
        const [latency, rate] = [await times(target, 600), await throughput(target, 150)];
        // The first turn warms up.
        if (turn === 0) continue;
        latencies[at]?.push(...latency);
        rates[at]?.push(rate);
      }
    }
    const [open = 0] = latencies.map(medianOf);
    const [openRate = 0] = rates.map(medianOf);
    for (const [at, form] of forms.entries()) {
      const [latency, rate] = [medianOf(latencies[at] ?? []), medianOf(rates[at] ?? [])];
      const added = (latency - open).toFixed(3).padStart(7);
      process.stdout.write(
        `${form.padEnd(10)} p50 ${latency.toFixed(3)} ms (+${added} ms)   ${rate.toFixed(0).padStart(6)} requests/s ×${(rate / openRate).toFixed(2)}\n`,
      );
    }
  } finally {
    for (const child of children) child.kill();
  }
}

const [, , form] = process.argv;
if (form === undefined) await measure();
else await serve(form as Form);
