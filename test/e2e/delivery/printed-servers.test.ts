/** The broker signs in at the servers that docs/servers prints, as they are printed there. */
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { runPrinted } from '../../docs/printed-program.ts';
import { startUpstream } from '../../server/third-party/rig.ts';
import { newHome } from '../../support/home.ts';
import { freePort } from '../../support/servers/port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const userAgent = path.join(import.meta.dirname, '..', '..', '..', 'demo', 'user-agent.ts');
const browser = { KEYTURN_ALLOW_INSECURE_LOOPBACK: '1', KEYTURN_BROWSER: `${process.execPath} ${userAgent}` };

/** What the MCP server answers to a request with the broker's token. */
async function answered(resource: string, token: string, body: object) {
  const answer = await fetch(resource, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token.trim()}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

it('a client signs in at the printed third-party flow, whose API answers', async () => {
  const certificates = await throwAwayCertificates();
  const upstream = await startUpstream(certificates);
  onTestFinished(() => upstream.close());
  const clientId = 'the id that the upstream gave you';
  upstream.state.bend = { claims: { aud: clientId }, introspection: { client_id: clientId } };
  const authorities = path.join(temporaryFolder(), 'upstream.pem');
  await writeFile(authorities, certificates.ca);
  const origin = `http://127.0.0.1:${await freePort()}`;
  const flow = await runPrinted('@keyturn/server/third-party', {
    words: [origin, upstream.issuer, `${upstream.issuer}/api`, '{folder}/sessions.db'],
    url: origin,
    env: {
      SEALING_KEY: randomBytes(32).toString('base64'),
      UPSTREAM_SECRET: 'of-this-test',
      NODE_EXTRA_CA_CERTS: authorities,
    },
  });
  onTestFinished(() => flow.close());

  const resource = `${origin}/mcp`;
  const home = newHome({ env: { ...browser, NODE_EXTRA_CA_CERTS: authorities } });
  await home.ok(['app', 'allow', 'cli', resource]);
  const token = await home.ok(['token', resource]);
  expect(await answered(resource, token, {})).toEqual({ status: 200, text: '{"notes":[]}' });
  await home.ok(['logout', resource]);
  await expect.poll(async () => (await answered(resource, token, {})).status).toBe(401);
  // The answer to the revocation doesn't wait for the service behind.
  await expect.poll(() => upstream.state.requests.map((request) => request.path)).toContain('/revoke');
});
