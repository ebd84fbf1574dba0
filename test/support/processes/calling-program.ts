#!/usr/bin/env node
/**
 * A program of a user that has nothing but `keyturn token`: it calls a tool of an MCP server, and asks the command
 * again, with the server's challenge, whenever the server refuses it.
 *
 * Exit 0: the server took every request. Otherwise the exit code of the command.
 */
import process from 'node:process';
import { endpoint, initialize, keyturn, printedBy, send } from './foreign-command.ts';

/** More than Keyturn itself allows. */
const maxTries = 6;

let token: string | undefined;

// The user allows it beforehand.
await printedBy('app', 'allow', 'cli', endpoint);

async function ask(message: object): Promise<void> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` };
    const response = await send(message, authorization);
    if (response.status !== 401 && response.status !== 403) return;
    const challenge = response.headers.get('www-authenticate') ?? 'Bearer';
    const refused = ['--status', String(response.status), '--challenge', challenge];
    const { status, stdout, stderr } = await keyturn('token', endpoint, ...refused);
    process.stderr.write(stderr);
    if (status !== 0) process.exit(Number(status));
    token = stdout.trim();
  }
}

await ask(initialize);
await ask({ method: 'tools/list' });
await ask({ method: 'tools/call', params: { name: 'test-tool', arguments: {} } });
