/** The daemon's fetch: whom it trusts, and what never goes through a proxy. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:https';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readExtraAuthorities } from '../../../src/daemon/system/authorities.ts';
import { daemonFetch, type FetchOptions } from '../../../src/daemon/system/fetch.ts';
import { type Certificates, throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { ofFile } from '../../support/lasting.ts';
import { portOf } from '../../support/servers/loopback-server.ts';
import { openWorld } from '../../support/world.ts';

const world = ofFile(() => openWorld());
let url: string;

beforeAll(() => {
  url = `${world.authorizationServer.issuer}/.well-known/openid-configuration`;
});

async function statusWith(options: FetchOptions): Promise<number> {
  const net = daemonFetch(async () => options);
  onTestFinished(() => net.close());
  const response = await net.fetchFor(world.protectedServer.url)(url, plainGet());
  await response.body?.cancel();
  return response.status;
}

/** A request without an end of its own. */
const plainGet = () =>
  ({ method: 'GET', headers: {}, redirect: 'manual', signal: new AbortController().signal }) as const;

/** Its URL. Servers with the same keys of tickets take each other's TLS sessions. */
async function serverWith({ key, cert }: Certificates, ticketKeys: Buffer): Promise<string> {
  const server = createServer({ key, cert, ticketKeys }, (_, response) => response.end('{}'));
  return `https://localhost:${await portOf(server)}/`;
}

describe('the daemon’s fetch', () => {
  it('checks each server’s certificate, also with resumed TLS sessions', async () => {
    const [known, unknown] = await Promise.all([throwAwayCertificates(), throwAwayCertificates()]);
    const ticketKeys = randomBytes(48);
    const trusted = await serverWith(known, ticketKeys);
    const other = await serverWith(unknown, ticketKeys);
    const net = daemonFetch(async () => ({ authorities: { pem: known.ca, hash: 'known' } }));
    onTestFinished(() => net.close());
    const status = async (to: string): Promise<number> => {
      const response = await net.fetchFor(to)(to, plainGet());
      await response.body?.cancel();
      return response.status;
    };
    expect(await status(trusted)).toBe(200);
    // The ticket of the session has come by the second answer.
    expect(await status(trusted)).toBe(200);
    await expect(status(other)).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/VERIFY|SELF_SIGNED/) },
    });
  });

  it('looks twice for an authority, and reports the last fault', async () => {
    const to = await serverWith(await throwAwayCertificates(), randomBytes(48));
    const asked: string[] = [];
    const net = daemonFetch(async () => ({
      find: (hostname, _options, callback) => {
        asked.push(hostname);
        callback(null, [{ address: asked.length === 1 ? '127.0.0.1' : '203.0.113.7', family: 4 }]);
      },
    }));
    onTestFinished(() => net.close());
    await expect(net.fetchFor(to)(to, plainGet())).rejects.toMatchObject({
      cause: { reason: 'insecure_url' },
    });
    expect(asked).toEqual(['localhost', 'localhost']);
  });

  it('trusts a certificate authority that the user named, and no other', async () => {
    expect(await statusWith({ authorities: readExtraAuthorities(world.caFile) })).toBe(200);
    await expect(statusWith({})).rejects.toMatchObject({
      cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
    });
  });

  it('verifies servers whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(statusWith({})).rejects.toMatchObject({
      cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' },
    });
  });

  it('ignores OpenSSL’s variables for authorities if the environment doesn’t count', async () => {
    const script = `
      import { daemonFetch } from './src/daemon/system/fetch.ts';
      const net = daemonFetch(async () => ({ ignoresEnvironment: process.argv[1] === 'desk' }));
      const init = { method: 'GET', headers: {}, redirect: 'manual', signal: AbortSignal.timeout(60_000) };
      console.log(await net.fetchFor('${world.protectedServer.url}')('${url}', init).then(({ status }) => status, () => 'refused'));
      await net.close();`;
    const run = async (where: string): Promise<string> => {
      const args = ['--input-type=module', '--eval', script, '--', where];
      const env = { ...process.env, SSL_CERT_FILE: world.caFile };
      return (await promisify(execFile)(process.execPath, args, { env })).stdout.trim();
    };
    expect(await run('elsewhere')).toBe('200');
    expect(await run('desk')).toBe('refused');
  });

  it('never sends a request to this machine through a proxy', async () => {
    // Nothing listens on the discard port: a request that went there would fail.
    const httpsProxy = 'http://127.0.0.1:9';
    const authorities = readExtraAuthorities(world.caFile);
    expect(await statusWith({ authorities, httpsProxy })).toBe(200);
    expect(await statusWith({ authorities, httpsProxy, noProxy: 'intern.example' })).toBe(200);
  });

  it('refuses to follow a public server’s documents to an address that is not public', async () => {
    const authorities = readExtraAuthorities(world.caFile);
    const net = daemonFetch(async () => ({ authorities }));
    const fetch = net.fetchFor('https://203.0.113.7.example.invalid/mcp');
    onTestFinished(() => net.close());
    for (const to of [url, url.replace('127.0.0.1', 'localhost')])
      await expect(fetch(to, plainGet())).rejects.toMatchObject({ reason: 'insecure_url' });
  });
});
