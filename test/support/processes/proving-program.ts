#!/usr/bin/env node
/**
 * A program of a user that has nothing but `keyturn token --dpop`: it sends a few requests to an MCP server, each
 * with the headers that the command prints for it, and follows the server's nonces.
 *
 * Exit 0: the server took every request.
 */
import { endpoint, initialize, printedBy, send } from './foreign-command.ts';

/** Requests that a nonce leads to: the one without it, and the one with it. */
const maxTries = 2;

let nonce: string | undefined;

// The user allows it beforehand.
await printedBy('app', 'allow', 'cli', endpoint);

async function headersFromKeyturn(): Promise<Record<string, string>> {
  const given = nonce === undefined ? [] : ['--nonce', nonce];
  const printed = await printedBy('token', endpoint, '--dpop', 'POST', ...given);
  return Object.fromEntries(printed.split('\n').map(named));
}

function named(line: string): [string, string] {
  const [name = '', ...value] = line.split(': ');
  return [name, value.join(': ')];
}

async function ask(message: object): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const response = await send(message, await headersFromKeyturn());
    nonce = response.headers.get('dpop-nonce') ?? nonce;
    if (response.ok) return;
    if (response.status !== 401) throw new Error(`the server answered ${response.status}`);
  }
  throw new Error('the server refused the proofs');
}

await ask(initialize);
await ask({ method: 'tools/list' });
