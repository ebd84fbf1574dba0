/** The program as one executable file, built as `npm run package:single` builds it. */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HomeOptions, homeInWorld, newHome, until } from '../../support/home.ts';
import { verdictOn } from '../../support/servers/notebook.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..', '..');
const canBuild = existsSync(path.join(root, 'node_modules', `node-linux-${process.arch}`));
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

let folder: string;
let executable: string;

/** What a home of a test starts: the executable in place of Node and the built command. */
const started = (file: string): HomeOptions => {
  const temporary = path.join(folder, 'temporary');
  mkdirSync(temporary, { recursive: true });
  return {
    launcher: ['sh', '-c', `shift 2; exec ${file} "$@"`, 'sh'],
    // Of no use to it: it takes no option of Node's.
    env: { TMPDIR: temporary, XDG_RUNTIME_DIR: undefined, NODE_OPTIONS: '--require=/nowhere' },
  };
};

/** A copy in which one byte of a native package is another one. */
function damaged(native: string): string {
  const copy = path.join(folder, `damaged-${path.basename(native)}`);
  const code = readFileSync(path.join(root, 'node_modules', native));
  const bytes = readFileSync(executable);
  const middle = code.length >> 1;
  const at = bytes.indexOf(code.subarray(middle, middle + 4096));
  if (at < 0) throw new Error(`${executable} does not hold this code.`);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(copy, bytes, { mode: 0o755 });
  return copy;
}

describe.skipIf(!canBuild)('the executable of one file', () => {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'kt-single-'));
    const script = path.join(root, 'scripts', 'package-single.ts');
    executable = (
      await run(process.execPath, [script, '--system', 'linux', '--output', folder])
    ).stdout.trim();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('signs in with the keychain, and leaves no file of its native code', async () => {
    const { home, world, resource } = await homeInWorld({ vault: 'keychain', ...started(executable) });
    // Without a warning: what V8 compiled beforehand is taken.
    expect(await home.keyturn(['--version'])).toMatchObject({
      code: 0,
      stdout: `keyturn ${version}\n`,
      stderr: '',
    });
    await home.ok(['app', 'allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    expect((await verdictOn(world, token)).status).toBe(200);
    const findings = JSON.parse((await home.keyturn(['doctor', '--json'])).stdout) as { kind: string }[];
    expect(findings.map(({ kind }) => kind)).not.toContain('keychain.module');
    // A process of its own listens there: the third one that is the same file.
    const proxy = (await home.ok(['proxy', 'add', resource])).trim();
    expect((await fetch(new URL('/elsewhere', proxy))).status).toBe(404);
    // A process that starts has one for a moment.
    await until('no file is left', () => readdirSync(path.join(folder, 'temporary')).length === 0);
  });

  it('loads no native code but what it was built with', async () => {
    const home = newHome(
      started(damaged(`@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`)),
    );
    const refused = await home.keyturn(['broker', 'run']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('koffi.node');
    expect(refused.stderr).toContain('checksum');
  });
});
