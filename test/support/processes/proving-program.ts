#!/usr/bin/env node
/**
 * A program of a person that has nothing but `keyturn token --dpop`: it sends a few requests to an MCP server, each
 * with the headers that the command prints for it, and follows the server's nonces.
 *
 *     node test/support/processes/proving-program.ts BIN ENDPOINT
 *
 * Exit 0: the server took every request.
 */
import process from 'node:process';
import { printedBy } from './foreign-command.ts';

const [bin = '', endpoint = ''] = process.argv.slice(2);

/** Requests that a nonce leads to: the one without it, and the one with it. */
const maxTries = 2;

let nonce: string | undefined;

// The person allows it beforehand.
await printedBy(bin, 'app', 'allow', 'cli', endpoint);

async function headersFromKeyturn(): Promise<Record<string, string>> {
  const given = nonce === undefined ? [] : ['--nonce', nonce];
  const printed = await printedBy(bin, 'token', endpoint, '--dpop', 'POST', ...given);
  return Object.fromEntries(printed.split('\n').map(named));
}

function named(line: string): [string, string] {
  const [name = '', ...value] = line.split(': ');
  return [name, value.join(': ')];
}

async function ask(body: object): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...(await headersFromKeyturn()),
    };
    const response = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(body) });
    await response.body?.cancel();
    nonce = response.headers.get('dpop-nonce') ?? nonce;
    if (response.ok) return;
    if (response.status !== 401) throw new Error(`the server answered ${response.status}`);
  }
  throw new Error('the server refused the proofs');
}

const clientInfo = { name: 'a-program', version: '1' };
const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
await ask({ jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize });
await ask({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} });
