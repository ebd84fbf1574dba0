#!/usr/bin/env node
/**
 * A workload of the public suite: it enters its client with each of the assertions that the suite gives it, gets a token
 * with `keyturn token`, and uses it.
 *
 * Exit 0: Keyturn refused the bad assertions by their reason, and the server took the token of the good one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { z } from 'zod';
import { endpoint, initialize, keyturn, printedBy, send } from './foreign-command.ts';

const context = z
  .object({
    client_id: z.string(),
    valid_jwt: z.string(),
    wrong_audience_jwt: z.string(),
    expired_jwt: z.string(),
  })
  .parse(JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}'));

const folder = mkdtempSync(path.join(tmpdir(), 'workload-'));
const file = path.join(folder, 'token');

/** The issuer that the MCP server names, as an operator knows it. */
async function issuerOf(server: string): Promise<string> {
  const refused = await fetch(server, { method: 'POST' });
  await refused.body?.cancel();
  const [, place = ''] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? [];
  const metadata = await (await fetch(place)).json();
  return z.object({ authorization_servers: z.tuple([z.string()]) }).parse(metadata).authorization_servers[0];
}

try {
  const issuer = await issuerOf(endpoint);
  const source = ['--grant-type', 'jwt-bearer', '--assertion', `file:${file}`];
  await printedBy('oauth-client', 'add', issuer, '--client-id', context.client_id, ...source);
  await printedBy('app', 'allow', 'cli', endpoint);
  for (const bad of [context.expired_jwt, context.wrong_audience_jwt]) {
    writeFileSync(file, bad, { mode: 0o600 });
    const { status, stderr } = await keyturn('token', endpoint, '--no-input');
    if (status !== 5 || !stderr.includes('reason: assertion_invalid'))
      throw new Error(`a bad assertion: ${status}\n${stderr}`);
  }
  writeFileSync(file, context.valid_jwt, { mode: 0o600 });
  const token = await printedBy('token', endpoint, '--no-input');
  const response = await send(initialize, { authorization: `Bearer ${token}` });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
