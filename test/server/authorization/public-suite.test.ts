/** The protocol's public conformance suite, as npm has it, at our authorization server; only the browser is ours. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { signInAt } from '../../../demo/user-agent.ts';
import { freeRedirect } from '../../support/servers/port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { notes, startServer } from './rig.ts';
import { ofFile } from '../../support/lasting.ts';

const main = path.join(
  import.meta.dirname,
  '../../clients/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);

/** The suite listens there for the code. */
const callback = await freeRedirect();

const rig = ofFile(async () =>
  startServer({ clients: [{ clientId: 'suite', name: 'The suite', redirectUris: [callback] }] }),
);

/** Runs both scenarios, and visits the page that the suite names. */
async function runSuite(): Promise<{ readonly code: unknown; readonly said: string }> {
  const authorities = path.join(temporaryFolder(), 'ca.pem');
  writeFileSync(authorities, rig.certificates.ca);
  const { port } = new URL(callback);
  const child = spawn(
    process.execPath,
    [main, 'authorization', '--url', rig.issuer, '--client-id', 'suite', '--port', port, '--resource', notes],
    { env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: authorities } },
  );
  onTestFinished(() => void child.kill());
  let said = '';
  let visit: Promise<unknown> | undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const [page] = /^https:\S+(?=\n)/m.exec(said) ?? [];
    if (page) visit ??= signInAt(page, { account: 'alice', ca: rig.certificates.ca });
  });
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  await visit;
  return { code, said };
}

// As a public client only: the suite keeps a client's secret to itself where the server takes public clients too.
it('passes the public suite’s scenarios for authorization servers', async () => {
  const { code, said } = await runSuite();
  expect(said).toContain('✓ authorization-server-metadata-endpoint: 2 passed, 0 failed');
  expect(said).toContain('✓ authorization-code-grant: 1 passed, 0 failed');
  expect(code).toBe(0);
});
