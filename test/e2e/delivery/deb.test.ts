/**
 * The Debian package: built as `npm run package:deb` builds it, put into an empty root by a real dpkg, and run where it
 * was installed: its /usr is laid over the machine's in a mount namespace of the test's own.
 *
 * Nothing of it runs without dpkg-deb and root or fakeroot; what else is missing skips the tests that need it, which
 * vitest lists: namespaces with an overlay, systemd-analyze, libseccomp, appstreamcli. test/soak/deb.soak.ts asks lintian.
 */
import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filesBelow, homeInWorld } from '../../support/home.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
import { tmpdir } from 'node:os';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..', '..');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

const has = (tool: string): boolean => spawnSync('which', [tool]).status === 0;
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? [] : ['fakeroot'];
/** A mount namespace of its own; without root also a user namespace. */
const apart = isRoot ? ['unshare', '-m'] : ['unshare', '-rm'];
const canOverlay =
  spawnSync(apart[0] ?? '', [
    ...apart.slice(1),
    'mount',
    '-t',
    'overlay',
    'overlay',
    '-o',
    'lowerdir=/etc:/usr',
    '/usr',
  ]).status === 0;
const canBuild = has('dpkg-deb') && existsSync(path.join(root, 'node_modules', `node-linux-${process.arch}`));
const canInstall = canBuild && (isRoot || has('fakeroot'));

let folder: string;
let deb: string;
/** The root that it is installed in. */
let target: string;

async function dpkg(...args: string[]): Promise<string> {
  const [program = '', ...words] = [...asRoot, 'dpkg', `--root=${target}`, '--force-not-root', ...args];
  return (await run(program, words)).stdout;
}

/** Builds the folder `tree` again, as another package. */
async function rebuild(tree: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  await run('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, file]);
  return file;
}

/** The package's files, with its control data. */
async function unpacked(name: string): Promise<string> {
  const tree = path.join(folder, name);
  await run('dpkg-deb', ['-R', deb, tree]);
  return tree;
}

/** Words before a command that sees the installed files in /usr. */
const installed = (): string[] => [
  ...apart,
  'sh',
  '-c',
  `mount -t overlay overlay -o lowerdir=${target}/usr:/usr /usr && exec "$@"`,
  'sh',
];

/** What a home of a test starts: the installed command in place of Node and the built one. */
const launcher = (unit: string): string[] => [
  ...installed(),
  'sh',
  '-c',
  `shift 2; case "$1" in daemon) exec python3 ${unit} /usr/lib/systemd/user/keyturn.service keyturn "$@" ;; *) exec keyturn "$@" ;; esac`,
  'sh',
];

const asUnit = path.join(root, 'test', 'support', 'processes', 'as-unit.py');

describe.skipIf(!canInstall)('the Debian package', () => {
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'kt-deb-'));
    const script = path.join(root, 'scripts', 'package-deb.ts');
    const { stdout } = await run(process.execPath, [
      script,
      '--output',
      folder,
      '--compression',
      'none',
      '--unchecked',
    ]);
    deb = stdout.trim();
    target = path.join(folder, 'target');
    for (const name of ['info', 'updates'])
      mkdirSync(path.join(target, 'var/lib/dpkg', name), { recursive: true });
    // What it depends on must be what this Debian has: dpkg looks there.
    const depends = (await run('dpkg-deb', ['-f', deb, 'Depends'])).stdout;
    const names = depends.split(/[,|]/).map((part) => part.trim().split(' ', 1)[0] ?? '');
    const known = spawnSync('dpkg-query', ['-s', ...names], { encoding: 'utf8' }).stdout;
    writeFileSync(path.join(target, 'var/lib/dpkg/status'), known);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('the Debian package replaces an older one, and leaves nothing of it', async () => {
    const tree = await unpacked('older');
    const control = path.join(tree, 'DEBIAN/control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(`Version: ${version}`, 'Version: 0.0.9'));
    writeFileSync(path.join(tree, 'usr/lib/keyturn/cli/older.js'), '');
    // The biggest file says nothing here.
    writeFileSync(path.join(tree, 'usr/lib/keyturn/node'), '');
    await dpkg('-i', await rebuild(tree, 'older.deb'));
    expect(readdirSync(path.join(target, 'usr/lib/keyturn/cli'))).toContain('older.js');
    await dpkg('-i', deb);
    expect(readdirSync(path.join(target, 'usr/lib/keyturn/cli'))).not.toContain('older.js');
    expect(await dpkg('-s', 'keyturn')).toContain(`Status: install ok installed`);
    expect(await dpkg('-s', 'keyturn')).toContain(`Version: ${version}\n`);
    expect(await dpkg('--verify', 'keyturn')).toBe('');
  });

  it('the Debian package holds no script that dpkg would run, and no file outside /usr', async () => {
    const control = readdirSync(path.join(target, 'var/lib/dpkg/info')).filter((name) =>
      name.startsWith('keyturn.'),
    );
    expect(control.toSorted()).toEqual(['keyturn.list', 'keyturn.md5sums']);
    expect(readdirSync(target).toSorted()).toEqual(['usr', 'var']);
    const docs = readFileSync(path.join(target, 'usr/share/doc/keyturn/copyright'), 'utf8');
    for (const name of ['Node.js', 'keytar 7', 'koffi 3', 'undici 7', 'zod 4'])
      expect(docs).toContain(`\n${name}`);
  });

  it.runIf(canOverlay && has('systemd-analyze'))(
    'the installed broker signs in, with the keychain, under all limits of its unit',
    async () => {
      const { home, world, resource } = await homeInWorld({ vault: 'keychain', launcher: launcher(asUnit) });
      expect(await home.ok(['--version'])).toBe(`keyturn ${version}\n`);
      const broker = home.start(['daemon']);
      await broker.says('the broker listens on');
      expect(readFileSync(`/proc/${broker.pid}/status`, 'utf8')).toMatch(/NoNewPrivs:\t1\n[^]*Seccomp:\t2\n/);
      await home.ok(['allow', 'cli', resource]);
      const token = (await home.ok(['token', resource])).trim();
      expect((await verdictOn(world, token)).status).toBe(200);
      await home.ok(['daemon', '--stop']);
    },
  );

  it.runIf(canOverlay && has('systemd-analyze'))('its units are what systemd expects', async () => {
    const [program = '', ...words] = installed();
    const units = ['keyturn.service', 'keyturn.socket'].map((name) => `/usr/lib/systemd/user/${name}`);
    const env = { ...process.env, XDG_RUNTIME_DIR: folder };
    const verified = await run(program, [...words, 'systemd-analyze', '--user', 'verify', ...units], { env });
    expect(verified).toEqual({ stdout: '', stderr: '' });
  });

  it.runIf(has('appstreamcli'))('its AppStream data are valid', async () => {
    const file = path.join(target, 'usr/share/metainfo/io.keyturn.cli.metainfo.xml');
    expect((await run('appstreamcli', ['validate', '--no-net', file])).stdout).toContain('successful');
  });

  it('is gone after a purge, and leaves no file of its own', async () => {
    await dpkg('--purge', 'keyturn');
    expect(filesBelow(target).filter((file) => !file.startsWith(path.join(target, 'var/lib/dpkg')))).toEqual(
      [],
    );
    expect(
      readdirSync(path.join(target, 'var/lib/dpkg/info')).filter((name) => name.startsWith('keyturn')),
    ).toEqual([]);
  });
});
