#!/usr/bin/env node
/**
 * A program of a person that has nothing but `keyturn token`: it calls a tool of an MCP server, and asks the command
 * again, with the server's challenge, whenever the server refuses it.
 *
 *     node test/support/processes/calling-program.ts BIN ENDPOINT
 *
 * Exit 0: the server took every request. Otherwise the exit code of the command.
 */
import process from 'node:process';
import { keyturn, printedBy } from './foreign-command.ts';

const [bin = '', endpoint = ''] = process.argv.slice(2);

/** More than Keyturn itself allows. */
const maxTries = 6;

let token: string | undefined;

// The person allows it beforehand.
await printedBy(bin, 'app', 'allow', 'cli', endpoint);

async function ask(body: object): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    await response.body?.cancel();
    if (response.status !== 401 && response.status !== 403) return;
    const challenge = response.headers.get('www-authenticate') ?? 'Bearer';
    const refused = ['--status', String(response.status), '--challenge', challenge];
    const { status, stdout, stderr } = await keyturn(bin, 'token', endpoint, ...refused);
    process.stderr.write(stderr);
    if (status !== 0) process.exit(Number(status));
    token = stdout.trim();
  }
}

const clientInfo = { name: 'a-program', version: '1' };
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
await ask({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize });
await ask({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
await ask({ jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'test-tool', arguments: {} } });
