/** Which servers the bridge's own requests trust, and by which proxy they go: in a process of their own, since Node reads authorities once a process. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { wasNeverSent } from '../../src/base/system/connection-faults.ts';
import { unreachable } from '../../src/bridge/base/errors.ts';
import type { NetworkResult } from '../../src/ipc/wire/network-messages.ts';
import { proxyEar } from '../support/servers/proxy-ear.ts';
import { openWorld, type TestWorld } from '../support/world.ts';

let world: TestWorld;
let caFile: string;

beforeAll(async () => {
  world = await openWorld();
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-ca-'));
  caFile = path.join(folder, 'ca.pem');
  writeFileSync(caFile, world.ca);
  return async () => {
    rmSync(folder, { recursive: true });
    await world.close();
  };
});

/** What two requests at once come to. */
async function outcomes(
  env: Readonly<Record<string, string>>,
  told: NetworkResult = {},
  url = world.protectedServer.url,
): Promise<unknown[]> {
  const network = path.join(import.meta.dirname, '..', '..', 'src', 'bridge', 'network.ts');
  const script = `
    const { bridgeFetch } = await import(${JSON.stringify(network)});
    const url = ${JSON.stringify(url)};
    const fetch = await bridgeFetch({ request: async () => (${JSON.stringify(told)}) }, url);
    const ask = async () => fetch(url).then(({ status }) => status, ({ cause, hint }) => hint ?? cause.code);
    console.log(JSON.stringify(await Promise.all([ask(), ask()])));
    process.exit();
  `;
  const child = Promise.withResolvers<string>();
  const args = ['--input-type=module', '-e', script];
  execFile(process.execPath, args, { env }, (error, stdout) =>
    error ? child.reject(error) : child.resolve(stdout),
  );
  return JSON.parse(await child.promise) as unknown[];
}

describe('a server whose authority', () => {
  it('is nobody’s is refused, and no second try is proposed', async () => {
    const [code = '', ...more] = await outcomes({ NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    expect(more).toEqual([code]);
    expect(wasNeverSent(String(code))).toBe(true);
    expect(unreachable('https://a.example', String(code))).toMatchObject({
      message: expect.stringContaining('The certificate of https://a.example was refused'),
      hint: expect.stringMatching(/set extraAuthorities FILE.*restart this server in your client/),
      isPassing: false,
    });
  });

  it('the broker’s settings name is trusted, unless the entry names its own', async () => {
    const told = { authorities: world.ca };
    expect(await outcomes({}, told)).toEqual([401, 401]);
    const code = expect.stringMatching(/CERT|SIGN|VERIFY|ISSUER/);
    expect(await outcomes({ NODE_EXTRA_CA_CERTS: '/dev/null' }, told)).toEqual([code, code]);
  });
});

describe('the proxy', () => {
  const url = 'https://notes.example/mcp';

  it('of the broker’s settings is used, unless the entry names its own', async () => {
    const ofBroker = await proxyEar();
    const ofEntry = await proxyEar();
    const told = { httpsProxy: ofBroker.url };
    const said = 'Ask the operator of the proxy.';
    expect(await outcomes({}, told, url)).toEqual([said, said]);
    expect(new Set(ofBroker.asked)).toEqual(new Set(['notes.example:443']));
    await outcomes({ HTTPS_PROXY: ofEntry.url }, told, url);
    expect(ofEntry.asked).toHaveLength(2);
    expect(ofBroker.asked).toHaveLength(2);
  });

  it('is not asked for what the broker reaches without it, nor for this machine', async () => {
    const ear = await proxyEar();
    await outcomes({}, { httpsProxy: ear.url, noProxy: 'notes.example' }, url);
    await outcomes({}, { httpsProxy: ear.url });
    expect(ear.asked).toEqual([]);
  });
});
