/** A whole release from its tag, in a clone: what is in it, and that its checksums are right. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { cloned } from '../support/processes/released.ts';

it('a release has packages, programs, bills of materials, notes and checksums', () => {
  const clone = cloned();
  const { version } = JSON.parse(readFileSync(path.join(clone.folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  clone.git('tag', `v${version}`);
  const { code, stderr } = clone.release({ withSetUp: true });
  expect(code, stderr).toBe(0);
  const release = path.join(clone.folder, 'release');
  const names = readdirSync(release, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  for (const wanted of [
    `keyturn-${version}.tgz`,
    `keyturn-client-${version}.tgz`,
    `keyturn-server-${version}.tgz`,
    `keyturn-${version}-py3-none-any.whl`,
    'keyturn-linux-x64',
    'keyturn-linux-x64.cdx.json',
    `keyturn-${version}.cdx.json`,
    'keyturn-token.1',
    'NOTES.md',
    'SHA256SUMS',
  ])
    expect(names).toContain(wanted);
  const checked = execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], {
    cwd: release,
    encoding: 'utf8',
  });
  expect(checked.trim().split('\n')).toHaveLength(names.length - 1);
});
