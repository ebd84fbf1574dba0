/** A client that writes lines by hand, in front of a bridge in this process. */
import type { TransportChoice } from '../../../src/bridge/eras/eras.ts';
import { startBridge } from '../../bridge/rig.ts';

export interface Answer {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: { readonly [name: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
}

export async function client(url: URL, transport?: TransportChoice, sleep?: () => Promise<void>) {
  const rig = await startBridge(url, undefined, sleep, transport);
  const lines: string[] = [];
  const waiting = new Map<unknown, (answer: Answer) => void>();
  let rest = '';
  rig.fromBridge.on('data', (piece: Buffer) => {
    const parts = (rest + piece.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      lines.push(line);
      for (const answer of [JSON.parse(line) as Answer | Answer[]].flat()) waiting.get(answer.id)?.(answer);
    }
  });
  const write = (text: string): void => void rig.toBridge.write(`${text}\n`);
  const wait = async (id: unknown): Promise<Answer> =>
    new Promise((resolve) => void waiting.set(id, resolve));
  const ask = async (id: unknown, method: string, params?: unknown): Promise<Answer> => {
    const answer = wait(id);
    write(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return answer;
  };
  const hello = async (protocolVersion = '2025-06-18'): Promise<Answer> =>
    ask(0, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'trial', version: '1' } });
  const begin = async (version?: string): Promise<Answer> => {
    const answer = await hello(version);
    write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    return answer;
  };
  const call = async (id: unknown): Promise<Answer> => ask(id, 'tools/call', { name: 'echo', arguments: {} });
  return { ...rig, lines, write, wait, ask, hello, begin, call };
}

/** The same, after its handshake. */
export async function begun(url: URL) {
  const one = await client(url);
  await one.begin();
  return one;
}
