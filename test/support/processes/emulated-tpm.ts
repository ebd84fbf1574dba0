/** A TPM 2.0 in software (swtpm) behind its resource manager on the session's bus, with one token set up in it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../home.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface EmulatedTpm {
  /** The module, the token and its PIN. */
  readonly place: { readonly module: string; readonly token: string };
  readonly pin: string;
  /** What a process that loads the module needs. */
  readonly env: Readonly<Record<string, string>>;
}

/** Where Debian puts the module. */
const places = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map(
  (name) => `/usr/lib/${name}/libtpm2_pkcs11.so.1`,
);

/** A process until the test ends. */
function running(program: string, args: readonly string[]): void {
  const child = spawn(program, args, { stdio: 'ignore' });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
}

export async function emulatedTpm(): Promise<EmulatedTpm> {
  const folder = temporaryFolder();
  const [state, store, socket] = ['state', 'store', 'tpm'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const name of [state, store]) mkdirSync(name);
  const server = ['--server', `type=unixio,path=${socket}`, '--ctrl', `type=unixio,path=${socket}.ctrl`];
  const tpm = [
    'socket',
    '--tpm2',
    '--tpmstate',
    `dir=${state}`,
    ...server,
    '--flags',
    'not-need-init,startup-clear',
  ];
  running('swtpm', tpm);
  await until('the TPM', () => existsSync(`${socket}.ctrl`));
  running('tpm2-abrmd', ['--session', '--allow-root', '--tcti', `swtpm:path=${socket}`]);
  const through = 'tabrmd:bus_type=session';
  const env = { TPM2_PKCS11_TCTI: through, TPM2TOOLS_TCTI: through, TPM2_PKCS11_STORE: store };
  const pin = '7305981264';
  const tool = (...args: string[]): boolean => {
    try {
      execFileSync('tpm2_ptool', [...args, `--path=${store}`], {
        env: { ...process.env, ...env },
        stdio: 'ignore',
      });
      return true;
    } catch {
      return false;
    }
  };
  await until('the resource manager', () => tool('init'));
  if (!tool('addtoken', '--pid=1', '--label=Keyturn', '--sopin=0000000000', `--userpin=${pin}`))
    throw new Error('tpm2_ptool made no token');
  const module = places.find((file) => existsSync(file)) ?? '';
  return { place: { module, token: 'Keyturn' }, pin, env };
}
