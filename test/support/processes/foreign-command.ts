/**
 * The `keyturn` command for the programs of the public suite, which also send requests.
 *
 * Invariant: it doesn't block: a blocked process misses that the server closes a connection after five idle seconds.
 */
import { execFile } from 'node:child_process';
import process from 'node:process';

/** What the suite calls each of them with. */
export const [bin = '', endpoint = ''] = process.argv.slice(2);

interface Ended {
  /** A name where the command could not be started. */
  readonly status: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export function keyturn(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...words], (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

/** The first message of a client. */
export const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'program', version: '1' } },
};

/** A message to an MCP server; answers without its body. */
export async function send(message: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, params: {}, ...message }),
  });
  await response.body?.cancel();
  return response;
}

/** What it prints. Rejects where it fails. */
export async function printedBy(...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await keyturn(...words);
  if (status !== 0) throw new Error(`keyturn ${words.join(' ')}: ${status}\n${stderr}`);
  return stdout.trim();
}
