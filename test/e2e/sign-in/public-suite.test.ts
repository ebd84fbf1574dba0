/**
 * The protocol's public conformance suite, as npm has it, against programs with nothing but `keyturn token`: its scenarios
 * for sign-ins, for tokens that are bound to a DPoP key (RFC 9449), and for workload identity (RFC 7523).
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import { builtBin } from '../../support/built.ts';

const suite = path.join(
  import.meta.dirname,
  '../../clients/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const programs = path.join(import.meta.dirname, '../../support/processes');

let shared: SharedHome;
beforeAll(async () => {
  const KEYTURN_CLIENT_METADATA_URL = 'https://conformance-test.local/client-metadata.json';
  shared = await openSharedHome({ plain: true, env: { KEYTURN_CLIENT_METADATA_URL } });
});
afterAll(() => shared.close());

async function run(scenario: string, program = 'proving-program.ts') {
  const command = [process.execPath, path.join(programs, program), builtBin].join(' ');
  return new Promise<{ code: number; said: string }>((resolve) => {
    execFile(
      process.execPath,
      [suite, 'client', '--command', command, '--scenario', scenario, '--timeout', '200000', '--verbose'],
      { env: shared.home.env },
      (error, stdout, stderr) => resolve({ code: error ? 1 : 0, said: stdout + stderr }),
    );
  });
}

/** What the suite calls them, by the rules that they prove. */
const signIns = {
  'B-9 B-11': 'metadata-default metadata-var1 metadata-var2 metadata-var3',
  'B-10': 'resource-mismatch',
  'B-13': 'metadata-issuer-mismatch',
  'B-15': 'basic-cimd',
  'B-18': 'token-endpoint-auth-basic token-endpoint-auth-post token-endpoint-auth-none',
  'B-20': 'scope-from-www-authenticate scope-from-scopes-supported scope-omitted-when-undefined',
  'B-21 B-22': 'scope-step-up scope-retry-limit',
  'B-24': 'offline-access-scope offline-access-not-supported',
  'B-25':
    'iss-supported iss-not-advertised iss-supported-missing iss-wrong-issuer iss-unexpected iss-normalized',
  'B-28 B-29': '2025-03-26-oauth-metadata-backcompat 2025-03-26-oauth-endpoint-fallback',
};

it.each(
  Object.entries(signIns).flatMap(([rules, names]) => names.split(' ').map((name) => [rules, name] as const)),
)('%s: passes the public suite’s scenario auth/%s', async (_rules, scenario) => {
  const { code, said } = await run(`auth/${scenario}`, 'calling-program.ts');
  expect(said).toContain(', 0 failed, 0 warnings');
  expect(code, said).toBe(0);
});

it.each([
  [
    'auth/dpop',
    [
      'sep-1932-client-token-request-proof',
      'sep-1932-client-dpop-auth-scheme',
      'sep-1932-client-fresh-proof',
    ],
  ],
  ['auth/dpop-nonce', ['sep-1932-client-as-nonce', 'sep-1932-client-rs-nonce']],
])('P-5 P-8: passes the public suite’s scenario %s', async (scenario, checks) => {
  const { code, said } = await run(scenario);
  for (const check of checks) expect(said).toMatch(new RegExp(`"id": "${check}",[^{}]*"status": "SUCCESS"`));
  expect(said).toContain(', 0 failed, 0 warnings');
  expect(code, said).toBe(0);
});

// The suite offers three assertions. The program gives Keyturn each; the server gets the valid one, once.
it('P-10: passes auth/wif-jwt-bearer, and sends no bad assertion', async () => {
  const { code, said } = await run('auth/wif-jwt-bearer', 'workload-program.ts');
  expect(said).toMatch(/"id": "wif-assertion-verified",[^{}]*"status": "SUCCESS"/);
  expect(said).not.toMatch(/"id": "wif-(?!assertion-verified)/);
  expect(said).toContain(', 0 failed, 0 warnings');
  expect(code, said).toBe(0);
});
