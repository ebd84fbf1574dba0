/** The Debian package as it is released: lintian reads all of it, and two builds give the same bytes. */
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const run = promisify(execFile);
const script = path.join(import.meta.dirname, '..', '..', 'scripts', 'package-deb.ts');
const has = (tool: string): boolean => spawnSync('which', [tool]).status === 0;

async function built(...options: string[]): Promise<{ bytes: Buffer; stderr: string }> {
  const folder = temporaryFolder();
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1790000000' };
  const { stderr } = await run(process.execPath, [script, '--output', folder, ...options], { env });
  return { bytes: readFileSync(path.join(folder, readdirSync(folder)[0] ?? '')), stderr };
}

describe.skipIf(!has('dpkg-deb'))('the Debian package', () => {
  it.runIf(has('lintian'))('has no error and no warning of lintian', async () => {
    // The script ends with a failure where lintian finds one.
    const { stderr } = await built();
    expect(stderr.replace(/running with root privileges is not recommended!\s*/, '')).toBe('');
  });

  it('is the same twice', async () => {
    const [one, other] = [
      await built('--compression', 'gzip', '--unchecked'),
      await built('--compression', 'gzip', '--unchecked'),
    ];
    expect(one.bytes.equals(other.bytes)).toBe(true);
  });
});
