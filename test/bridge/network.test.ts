/** Which servers the bridge's own requests trust: in a process of their own, since Node reads authorities once a process. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
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
async function outcomes(env: Readonly<Record<string, string>>): Promise<unknown> {
  const network = path.join(import.meta.dirname, '..', '..', 'src', 'bridge', 'network.ts');
  const script = `
    const { bridgeFetch } = await import(${JSON.stringify(network)});
    const fetch = bridgeFetch();
    const url = ${JSON.stringify(world.protectedServer.url)};
    const ask = async () => fetch(url).then(({ status }) => status, ({ cause }) => cause.code);
    console.log(JSON.stringify(await Promise.all([ask(), ask()])));
    process.exit();
  `;
  const child = Promise.withResolvers<string>();
  const args = ['--input-type=module', '-e', script];
  execFile(process.execPath, args, { env }, (error, stdout) =>
    error ? child.reject(error) : child.resolve(stdout),
  );
  return JSON.parse(await child.promise);
}

describe('a server whose authority', () => {
  it('is nobody’s is refused', async () => {
    const code = expect.stringMatching(/CERT|SIGN|VERIFY|ISSUER/);
    expect(await outcomes({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([code, code]);
  });

  it('NODE_EXTRA_CA_CERTS names is trusted', async () => {
    expect(await outcomes({ NODE_EXTRA_CA_CERTS: caFile })).toEqual([401, 401]);
  });

  it('the system has is trusted, by each of the first requests', async () => {
    expect(await outcomes({ SSL_CERT_FILE: caFile })).toEqual([401, 401]);
  });
});
