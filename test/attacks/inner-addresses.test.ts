/** A server, or who controls its name, leads the broker to a private network. The test answers each look-up. */
import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { hostOf } from '../../src/base/addresses.ts';
import type { SpawnChild } from '../../src/base/system/child.ts';
import { connectAsOwner } from '../../src/client/connect.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { readExtraAuthorities } from '../../src/daemon/system/authorities.ts';
import { daemonFetch } from '../../src/daemon/system/fetch.ts';
import { terminalLog } from '../../src/daemon/system/log.ts';
import type { ResultOf } from '../../src/ipc/protocol/methods.ts';
import { proxyWorkerFile } from '../../src/proxy/worker-file.ts';
import { questionId } from '../renderer/page-broker.ts';
import { newHome } from '../support/home.ts';
import { brokerRig, type Rig } from '../broker/rig.ts';
import { ground, refused } from '../rules/ground.ts';
import { asOwner } from '../rules/wire.ts';
import { portOf } from '../support/servers/loopback-server.ts';
import { resolveBy } from '../support/servers/resolver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ofTest } from '../support/lasting.ts';

const caFile = path.join(temporaryFolder(afterAll), 'ca.pem');
const reached: string[] = [];
let port: number;
let close: () => unknown;

/** An address of the public Internet, where nobody is asked in these tests. */
const far = '93.184.216.34';

beforeAll(async () => {
  const names = ['server.example', 'inner.example', 'inner.localhost', 'localhost'];
  const made = await generate([{ name: 'commonName', value: 'server.example' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [...names.map((value) => ({ type: 2 as const, value })), { type: 7, ip: '127.0.0.1' }],
      },
    ],
  });
  writeFileSync(caFile, made.cert);
  const server = https.createServer({ key: made.private, cert: made.cert }, (request, response) => {
    reached.push(request.headers.host ?? '');
    response.end('inside');
  });
  port = await portOf(server, (end) => (close = end));
});

afterAll(() => close());

beforeEach(() => reached.splice(0));

interface Step {
  /** What the user typed. */
  readonly endpoint: string;
  /** Hosts that are asked, in order. */
  readonly hosts: readonly string[];
  /** Which URLs are of a host that the user confirmed. */
  readonly confirmed?: (url: string) => boolean;
}

/** Asks each host in turn, on the way of one endpoint; the reasons of what was refused. */
async function follow({ endpoint, hosts, confirmed }: Step): Promise<unknown[]> {
  const net = daemonFetch(async () => ({ authorities: readExtraAuthorities(caFile) }));
  onTestFinished(() => net.close());
  const fetch = net.fetchFor(endpoint, confirmed);
  const outcomes: unknown[] = [];
  for (const host of hosts) {
    const signal = AbortSignal.timeout(60_000);
    const how = { method: 'GET', headers: {}, redirect: 'manual', signal } as const;
    outcomes.push(
      await fetch(`https://${host}:${port}/`, how).then(async ({ status, body }) => {
        await body?.cancel();
        return status;
      }, reasonIn),
    );
  }
  return outcomes;
}

/** The reason of ours, wherever fetch puts it. */
function reasonIn(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return 'reason' in error ? error.reason : reasonIn(error.cause);
}

const endpoint = 'https://server.example/mcp';

it('B-2: a name with a public and a private address is not reached', async () => {
  resolveBy((name) => (name === 'server.example' ? ['127.0.0.1', far] : undefined));
  const hosts = ['server.example', '127.0.0.1', 'localhost'];
  expect(await follow({ endpoint, hosts })).toEqual(['insecure_url', 'insecure_url', 'insecure_url']);
  expect(reached).toEqual([]);
});

describe('a server whose name changes its address', () => {
  it('B-2: is not reached once its name leads into a private network', async () => {
    const answers = [['127.0.0.1'], [far]];
    resolveBy((name) => (name === 'server.example' ? (answers.shift() ?? ['127.0.0.1']) : undefined));
    expect(await follow({ endpoint, hosts: ['server.example'] })).toEqual(['insecure_url']);
    expect(reached).toEqual([]);
  });

  it('is reached at the address that was checked, for its name is resolved once', async () => {
    const answers = [['127.0.0.1']];
    const asked = resolveBy((name) =>
      name === 'inner.example' ? (answers.shift() ?? ['0.0.0.0']) : undefined,
    );
    const confirmed = (url: string): boolean => hostOf(url) === 'inner.example';
    expect(await follow({ endpoint, hosts: ['inner.example'], confirmed })).toEqual([200]);
    expect(asked).toEqual(['inner.example']);
  });
});

it('a loopback name leads to this machine, whatever a resolver says of it', async () => {
  resolveBy((name) => (name === 'inner.localhost' ? ['127.0.0.1', '10.0.0.5'] : undefined));
  const hosts = ['inner.localhost'];
  expect(await follow({ endpoint: 'https://inner.localhost/mcp', hosts })).toEqual(['insecure_url']);
  expect(reached).toEqual([]);
});

describe('metadata that names an authorization server in a private network', () => {
  interface Named {
    readonly rig: Rig;
    /** Requests that the authorization server got. */
    readonly asked: () => number;
    readonly set: (host: string, on: boolean) => Promise<unknown>;
  }

  /** The MCP server under the name `server.example`, its authorization server under `localhost`. */
  async function named(): Promise<Named> {
    const { world, authorizationServer, protectedServer } = await ground();
    const origin = 'https://server.example';
    const net = daemonFetch(async () => ({ authorities: readExtraAuthorities(world.caFile) }));
    onTestFinished(() => net.close());
    const way: { rig?: Rig } = {};
    const guarded = net.fetchFor(`${origin}/mcp`, (url) => way.rig?.parts.exceptions.isPrivate(url) ?? false);
    protectedServer.settings.resource = `${origin}/mcp`;
    protectedServer.settings.metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
    const rig = await brokerRig({
      fetch: (url, init) =>
        url.startsWith(origin)
          ? world.fetch(url.replace(origin, protectedServer.server.base), init)
          : guarded(url, init),
      endpoint: `${origin}/mcp`,
      visit: (url) => world.fetch(url),
    });
    way.rig = rig;
    await rig.allow();
    return {
      rig,
      asked: () => authorizationServer.server.requests.length,
      set: (host, on) => asOwner(rig)('exception.set', { server: host, name: 'private-address', on }),
    };
  }

  it('is not followed, though the server’s own name has a private address', async () => {
    resolveBy((name) => (name === 'server.example' ? ['127.0.0.1', far] : undefined));
    const { rig, asked } = await named();
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'insecure_url',
      hint: expect.stringContaining('keyturn exception add 127.0.0.1 private-address'),
    });
    expect(asked()).toBe(0);
  });

  it('B-2: is followed once the user confirmed that host, and no other', async () => {
    const { rig, asked, set } = await named();
    await set('https://server.example/mcp', true);
    await set('https://localhost', true);
    expect(await refused(rig.ask())).toMatchObject({ reason: 'insecure_url' });
    expect(asked()).toBe(0);
    await set('https://127.0.0.1:1/any/path', true);
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    const { signIns } = (await asOwner(rig)('signIn.list')) as { signIns: { exceptions: string[] }[] };
    expect(signIns.map(({ exceptions }) => exceptions)).toEqual([['private-address']]);
  });
});

/** The process of the proxies, in which the name of the inner server leads to this machine as well. */
const spawnProxy: SpawnChild = (env) => {
  const preload = `
    import dns from 'node:dns';
    import { syncBuiltinESMExports } from 'node:module';
    const real = dns.lookup;
    dns.lookup = (host, options, done) =>
      host === 'inner.example' ? done(null, [{ address: '127.0.0.1', family: 4 }]) : real(host, options, done);
    syncBuiltinESMExports();`;
  const child = fork(proxyWorkerFile, [], {
    env,
    serialization: 'json',
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(preload)}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return {
    post: (message) => void child.send(message as object, () => undefined),
    onMessage: (listener) => void child.on('message', listener),
    onExit: (listener) => void child.on('exit', listener),
    kill: () => void child.kill('SIGKILL'),
  };
};

it('H-17: a proxied program reaches an inner host only while it is confirmed', async () => {
  const home = newHome({ env: { NODE_EXTRA_CA_CERTS: caFile } });
  const daemon = await startDaemon({
    paths: home.paths,
    env: home.env,
    autoStarted: false,
    openBrowser: () => Promise.reject(new Error('no page is opened here')),
    log: terminalLog(() => undefined),
    shield: () => Promise.resolve([]),
    spawnProxy,
  });
  onTestFinished(() => daemon.stop());
  const owner = await ofTest(connectAsOwner({ env: home.env, paths: home.paths }));
  const resource = `https://inner.example:${port}/mcp`;
  const value = 'ak_for-the-inner-server';
  await owner.request('apiKey.set', { resource, header: 'X-Api-Key', value, unchecked: true });
  const { proxy } = (await owner.request('proxy.add', { resource })) as ResultOf<'proxy.add'>;
  const call = async (): Promise<string> => (await fetch(proxy.url, { method: 'POST', body: '{}' })).text();
  const override = (on: boolean) =>
    owner.request('exception.set', { server: resource, name: 'private-address', on });

  const first = call();
  await owner.request('request.answer', { id: await questionId(owner, 'allow'), answer: 'approve' });
  expect(await first).toContain('"reason":"insecure_url"');
  expect(reached).toEqual([]);
  await override(true);
  expect(await call()).toBe('inside');
  await override(false);
  expect(await call()).toContain('"reason":"insecure_url"');
  expect(reached).toEqual([`inner.example:${port}`]);
});
