/** The Python client as a package: built and type-checked with what Debian has. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = path.join(import.meta.dirname, '..', '..');
/** The system's own: the build's packages are installed for no other. */
const python = '/usr/bin/python3';

function mypy(folder: string, file: string, env: NodeJS.ProcessEnv = {}) {
  const args = ['--strict', '--cache-dir', path.join(folder, 'cache'), file];
  return spawnSync('/usr/bin/mypy', args, { cwd: folder, encoding: 'utf8', env: { ...process.env, ...env } });
}

describe.runIf(process.platform === 'linux')('keyturn.py', () => {
  it('has types for everything', () => {
    const checked = mypy(temporaryFolder(), path.join(root, 'clients', 'python', 'keyturn.py'));
    expect(checked.stdout).toContain('Success');
  });

  it('installs as a typed package of the same version', () => {
    const folder = temporaryFolder();
    const source = path.join(folder, 'source');
    cpSync(path.join(root, 'clients', 'python'), source, { recursive: true });
    const built = path.join(folder, 'built');
    const build = ['-m', 'build', '--no-isolation', '--wheel', '--outdir', built, source];
    execFileSync(python, build, { stdio: 'ignore' });
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    const wheel = `keyturn-${version}-py3-none-any.whl`;
    expect(readdirSync(built)).toEqual([wheel]);
    const site = path.join(folder, 'site');
    mkdirSync(site);
    execFileSync(python, ['-m', 'zipfile', '--extract', path.join(built, wheel), site]);
    const program =
      'import keyturn\nwith keyturn.connect("notes") as broker:\n    wrong: int = broker.get_token("https://notes.example/mcp").header\n';
    writeFileSync(path.join(folder, 'program.py'), program);
    const checked = mypy(folder, 'program.py', { MYPYPATH: site });
    expect(checked.stdout).toMatch(/program\.py:3: error: .*has type "str", variable has type "int"/);
    expect(checked.stdout).toContain('Found 1 error in 1 file');
  });
});
