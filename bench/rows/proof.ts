/** One proof (RFC 9449) by a key in software, beside keys in SoftHSM: what a key in hardware costs besides the hardware. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { ProofKey } from '../../src/oauth/client/proof-key.ts';
import { newSoftwareKey } from '../../src/signing/base/software-key.ts';
import { forkSigner, TokenKeys } from '../../src/signing/pkcs11/token-keys.ts';
import { isSmoke } from '../form.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';

const module = '/usr/lib/softhsm/libsofthsm2.so';

interface SoftHsm {
  readonly key: ProofKey;
  readonly close: () => void;
}

/** Undefined where SoftHSM is missing. */
async function softHsm(): Promise<SoftHsm | undefined> {
  if (!existsSync(module)) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'kb-token-'));
  const [config, tokens] = [path.join(folder, 'softhsm2.conf'), path.join(folder, 'tokens')];
  mkdirSync(tokens);
  writeFileSync(config, `directories.tokendir = ${tokens}\n`);
  const env = { ...process.env, SOFTHSM2_CONF: config };
  const pin = '0000000000';
  const made = ['--init-token', '--free', '--label', 'bench', '--pin', pin, '--so-pin', pin];
  execFileSync('softhsm2-util', made, { env, stdio: 'ignore' });
  const keys = new TokenKeys({ spawn: () => forkSigner(env), pinOf: async () => pin });
  const close = (): void => {
    keys.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { key: new ProofKey(await keys.make({ module, token: 'bench' })), close };
}

export const proof: Measurement = {
  name: 'proof',
  async measure() {
    const [turns, rounds] = isSmoke ? [1, 20] : [7, 500];
    const inSoftware = new ProofKey(newSoftwareKey());
    const token = await softHsm();
    const url = new URL('https://server.example/mcp');
    const made = (key: ProofKey): Promise<string> =>
      key.proof({ method: 'POST', url, accessToken: 'a'.repeat(1500), time: Date.now() });
    const times = await inTurn(turns, {
      ours: async () => 1000 * (await timeOf(rounds, async () => made(inSoftware))),
      SoftHSM: async () => (token ? 1000 * (await timeOf(rounds, async () => made(token.key))) : Number.NaN),
    });
    token?.close();
    return { name: 'proof', what: 'one proof of a key in software', unit: 'µs', ...times, goals: [] };
  },
};
