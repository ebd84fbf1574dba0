/** A client that starts the built bridge as its server, as an editor does. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { builtBin } from '../built.ts';
import type { TestHome } from '../home.ts';

/** What a first start says on standard error while it waits. */
export function waitingLine(name: string, resource: string): string {
  return `keyturn: ${name} waits for your answer or sign-in at ${resource}. Answer in the Keyturn app, or with: keyturn request\n`;
}

/** Ends with the test. `connected` rejects with what the bridge answers to `initialize`. */
export function startClient(home: Pick<TestHome, 'env'>, ...args: string[]) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [builtBin, 'bridge', ...args],
    env: Object.fromEntries(
      Object.entries(home.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    stderr: 'pipe',
  });
  const output = { stderr: '' };
  transport.stderr?.on('data', (text: Buffer) => (output.stderr += text.toString()));
  const client = new Client({ name: 'an-editor', version: '1.0.0' });
  onTestFinished(() => client.close());
  const connected = client.connect(transport).then(() => ({ client, output, pid: transport.pid ?? 0 }));
  return { output, connected };
}

/** The same, once it is connected. */
export async function clientOf(home: Pick<TestHome, 'env'>, ...args: string[]) {
  return startClient(home, ...args).connected;
}
