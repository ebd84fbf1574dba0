/** A security token in software: SoftHSM, with tokens in a temporary folder. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';

/** Where Debian puts it. */
export const softModule = '/usr/lib/softhsm/libsofthsm2.so';

export interface SoftToken {
  readonly label: string;
  readonly pin: string;
  readonly pinFile: string;
  /** What a process that loads the module needs. */
  readonly env: Readonly<Record<string, string>>;
  /** The setting that names it. */
  readonly uri: string;
  /** Takes every key out of the token, as who sets it up anew. */
  readonly wipe: () => void;
  /** Takes the token away, and brings it back. */
  readonly disconnect: () => () => void;
}

/** A token of its own, until the test ends, for processes whose home folder this is. */
export function softToken(home = temporaryFolder()): SoftToken {
  const label = 'Keyturn test';
  const folder = temporaryFolder();
  const tokens = path.join(folder, 'tokens');
  const pinFile = path.join(folder, 'pin');
  // Where SoftHSM looks: a broker that a command starts gets none of the command's variables.
  const config = path.join(home, '.config', 'softhsm2', 'softhsm2.conf');
  mkdirSync(path.dirname(config), { recursive: true });
  mkdirSync(tokens);
  const using = (place: string): void =>
    writeFileSync(config, `directories.tokendir = ${place}\nlog.level = ERROR\n`);
  using(tokens);
  onTestFinished(() => rmSync(config, { force: true }));
  const pin = '7305981264';
  writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 });
  const env = { HOME: home };
  execFileSync(
    'softhsm2-util',
    ['--init-token', '--free', '--label', label, '--pin', pin, '--so-pin', '0000000000'],
    { env: { ...process.env, ...env }, stdio: 'ignore' },
  );
  const uri = `pkcs11:token=${encodeURIComponent(label)}?module-path=${softModule}&pin-source=file:${pinFile}`;
  return {
    label,
    pin,
    pinFile,
    env,
    uri,
    wipe() {
      for (const name of readdirSync(tokens, { recursive: true, encoding: 'utf8' }))
        if (/(?<!token)\.(object|lock)$/.test(name)) rmSync(path.join(tokens, name));
    },
    disconnect() {
      const empty = path.join(folder, 'empty');
      mkdirSync(empty, { recursive: true });
      using(empty);
      return () => using(tokens);
    },
  };
}
