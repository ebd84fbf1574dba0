/**
 * The protocol's public conformance suite, as npm has it, against a program with nothing but `keyturn token --dpop`: its
 * scenarios for tokens that are bound to a key (RFC 9449); and its scenario for workload identity (RFC 7523) against one
 * with `keyturn token`.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSharedHome } from '../../support/bent/home.ts';
import type { SharedHome } from '../../support/bent/home.ts';
import { builtBin } from '../../support/built.ts';

const suite = path.join(
  import.meta.dirname,
  '../../clients/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const programs = path.join(import.meta.dirname, '../../support/processes');

let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome({ plain: true });
});
afterAll(() => shared.close());

async function run(
  scenario: string,
  program = 'proving-program.ts',
): Promise<{ readonly code: number; readonly said: string }> {
  const command = [process.execPath, path.join(programs, program), builtBin].join(' ');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [suite, 'client', '--command', command, '--scenario', scenario, '--timeout', '200000', '--verbose'],
      { env: shared.home.env },
      (error, stdout, stderr) => resolve({ code: error ? 1 : 0, said: stdout + stderr }),
    );
  });
}

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
it('P-10: passes the public suite’s scenario auth/wif-jwt-bearer, and sends no assertion that is expired or for another server', async () => {
  const { code, said } = await run('auth/wif-jwt-bearer', 'workload-program.ts');
  expect(said).toMatch(/"id": "wif-assertion-verified",[^{}]*"status": "SUCCESS"/);
  expect(said).not.toMatch(/"id": "wif-(?!assertion-verified)/);
  expect(said).toContain(', 0 failed, 0 warnings');
  expect(code, said).toBe(0);
});
