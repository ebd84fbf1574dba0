/** A bridge in this process: a client of the SDK on its pipes, a real broker socket for its tokens. */
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { untilAborted } from '../../src/base/abort.ts';
import { runBridge } from '../../src/bridge/bridge.ts';
import type { TransportChoice } from '../../src/bridge/eras/eras.ts';
import type { Connection } from '../../src/client/connection.ts';
import { machineTime } from '../../src/client/takeover.ts';
import { type Dispatch, startTokenBroker, tokenDispatch } from '../support/token-broker.ts';

/**
 * Connects to a broker that gives `secret-1`, and another token after each refusal. `more`: answers what tokens aren't about;
 * `heard` gets what is asked of them.
 */
export async function tokenBroker(
  resource: string,
  more?: Dispatch,
  heard: (params: unknown) => void = () => undefined,
): Promise<() => Promise<Connection>> {
  const tokens = tokenDispatch(resource, { heard: ({ params }) => heard(params) });
  return startTokenBroker(async (caller, method, params) => {
    const answer = more && !method.startsWith('token.') ? more : tokens;
    return answer(caller, method, params);
  });
}

export async function tokenConnection(resource: string): Promise<Connection> {
  return (await tokenBroker(resource))();
}

/** Milliseconds that the bridge of a test skips. A longer pause doesn't end: what comes after it is of no test. */
const skipped = 3000;

async function skip(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > skipped) await untilAborted(new Promise<never>(() => undefined), signal);
}

/** `toBridge` and `fromBridge`: what the client writes, and what it reads. `said`: what the user was told. */
export async function startBridge(
  endpoint: URL,
  connection?: () => Promise<Connection>,
  wait = skip,
  transport?: TransportChoice,
) {
  const toBridge = new PassThrough();
  const fromBridge = new PassThrough();
  const said: string[] = [];
  const end = new AbortController();
  const known = connection ? undefined : await tokenConnection(endpoint.href);
  const ended = runBridge({
    endpoint,
    connection: connection ?? (async () => known ?? tokenConnection(endpoint.href)),
    stdin: toBridge,
    stdout: fromBridge,
    say: (line) => void said.push(line),
    signal: end.signal,
    fetchFor: async () => globalThis.fetch,
    ...(transport && { transport }),
    time: { ...machineTime, sleep: async (ms, signal = end.signal) => wait(ms, signal) },
  });
  onTestFinished(async () => {
    end.abort();
    fromBridge.resume();
    await ended;
  });
  return { toBridge, fromBridge, said, ended };
}

/** A client of the SDK, connected through a bridge. `prepare` registers what the client answers. */
export async function bridged(
  endpoint: URL,
  options: ClientOptions = {},
  prepare: (client: Client) => void = () => undefined,
  connection?: () => Promise<Connection>,
  wait = skip,
) {
  const rig = await startBridge(endpoint, connection, wait);
  const client = new Client({ name: 'an-editor', version: '1.0.0' }, options);
  prepare(client);
  // Lines in, lines out: this end is the same as the other.
  await client.connect(new StdioServerTransport(rig.fromBridge, rig.toBridge, { maxBufferSize: 2 ** 27 }));
  return { ...rig, client };
}

/** One message, as a line; resolves with the next line that comes. */
export async function exchange(
  { toBridge, fromBridge }: Record<'toBridge' | 'fromBridge', PassThrough>,
  line: string,
): Promise<unknown> {
  const answer = new Promise<string>((resolve) => {
    let text = '';
    const listener = (piece: Buffer): void => {
      text += piece.toString();
      if (!text.endsWith('\n')) return;
      fromBridge.off('data', listener);
      resolve(text);
    };
    fromBridge.on('data', listener);
  });
  toBridge.write(`${line}\n`);
  return JSON.parse(await answer) as unknown;
}
