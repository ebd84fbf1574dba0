/** The packed app: electron-builder itself, over a stub of Electron, and what came out. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { broughtCommand } from '../../electron/system/own-command.ts';
import { installedCommand } from '../../src/setup/own-command.ts';
import { readTree } from '../support/source/imports.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..');

/** Where the fuses stand in a binary (@electron/fuses): this text, a version, a count, and a character for each. */
const sentinel = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
const fuses = [
  'runAsNode',
  'enableCookieEncryption',
  'enableNodeOptionsEnvironmentVariable',
  'enableNodeCliInspectArguments',
  'enableEmbeddedAsarIntegrityValidation',
  'onlyLoadAppFromAsar',
  'loadBrowserProcessSpecificV8Snapshot',
  'grantFileProtocolExtraPrivileges',
] as const;

/** What each must be. The snapshot's is as Electron ships it: off. */
const blown: Readonly<Partial<Record<(typeof fuses)[number], boolean>>> = {
  runAsNode: false,
  enableCookieEncryption: false,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  enableEmbeddedAsarIntegrityValidation: true,
  onlyLoadAppFromAsar: true,
  grantFileProtocolExtraPrivileges: false,
};

/** The stub's: each fuse that must be off is on, and each that must be on is off. */
const shipped = '11110001';

/** What the app brings along as its `keyturn`. */
const command = '#!/bin/sh\necho the command\n';

/** Milliseconds: electron-builder asks npm for the tree of packages, and reads each of them. */
const packing = 300_000;

let folder: string;
let packed: string;
let files: string[];

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'kt-packed-'));
  const stub = path.join(folder, 'stub');
  mkdirSync(path.join(stub, 'resources'), { recursive: true });
  const wire = Buffer.concat([Buffer.from(sentinel), Buffer.from([1, fuses.length]), Buffer.from(shipped)]);
  writeFileSync(path.join(stub, 'electron'), Buffer.concat([Buffer.from('stub'), wire, Buffer.from('end')]));
  const builder = path.join(root, 'node_modules', 'electron-builder', 'cli.js');
  const choice = [`-c.electronDist=${stub}`, `-c.directories.output=${path.join(folder, 'out')}`];
  // In place of the executable of one file, whose own test builds it.
  writeFileSync(path.join(folder, `keyturn-linux-${process.arch}`), command, { mode: 0o755 });
  const env = { ...process.env, KEYTURN_EXECUTABLES: path.relative(root, folder) };
  await run(process.execPath, [builder, '--linux', '--dir', ...choice], { cwd: root, env });
  packed = path.join(folder, 'out', 'linux-unpacked');
  files = asar().listPackage(path.join(packed, 'resources', 'app.asar'), { isPack: false });
}, packing);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Asar {
  listPackage(archive: string, options: { isPack: boolean }): string[];
  extractFile(archive: string, file: string): Buffer;
}

/** What electron-builder packs with; it isn't a dependency of ours. */
function asar(): Asar {
  const builder = createRequire(path.join(root, 'node_modules', 'app-builder-lib', 'package.json'));
  return builder('@electron/asar') as Asar;
}

describe('the packed app', () => {
  it('holds the built program, and no test, source, map, tool or page of anybody’s', () => {
    const own = files.filter((file) => !file.startsWith('/node_modules'));
    const wanted =
      /^\/(package\.json|LICENSE|assets(\/(tray|icons)|\/tray\/\w+(@2x)?\.png|\/icons\/256x256\.png)?|dist|dist\/app(\/.*\.c?js|\/package\.json|\/[^.]*)?|dist\/renderer.*)$/;
    expect(own.filter((file) => !wanted.test(file))).toEqual([]);
    expect(own).toContain('/dist/app/electron/main.js');
    expect(own).toContain('/dist/app/electron/preload.cjs');
    expect(own).toContain('/dist/app/src/vault/keychain/keychain-worker.js');
    expect(own).toContain('/dist/app/src/proxy/proxy-worker.js');
    expect(files.filter((file) => /\.(map|tsx?|mts|cts|md|cc|cpp|h|gyp|o)$/.test(file))).toEqual([]);
    expect(
      files.filter((file) => /\/(tests?|__tests__|examples?|docs?|coverage|\.github)\//.test(file)),
    ).toEqual([]);
    expect(own.filter((file) => /\/(cli|demo|test|renderer\/src)\//.test(file))).toEqual([]);
  });

  it('holds packages that it needs at run time only', () => {
    const { devDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      devDependencies: Record<string, string>;
    };
    const names = new Set(
      files
        .filter((file) => file.startsWith('/node_modules/'))
        .map((file) =>
          file
            .split('/')
            .slice(2, file.startsWith('/node_modules/@') ? 4 : 3)
            .join('/'),
        ),
    );
    expect(Object.keys(devDependencies).filter((name) => names.has(name))).toEqual([]);
    const wanted = [
      'conf',
      'electron-store',
      'ipaddr.js',
      'keytar',
      'koffi',
      'openid-client',
      'undici',
      'zod',
    ];
    expect(wanted.filter((name) => !names.has(name))).toEqual([]);
    const built = readTree(path.join(root, 'dist', 'app'), ['.js']);
    const imported = new Set(
      [...built.values()].flatMap(({ imports }) => imports.map(({ target }) => target)),
    );
    const missing = [...imported].filter(
      (name) => /^[a-z@]/.test(name) && !name.includes(':') && !name.endsWith('.js'),
    );
    expect(missing.filter((name) => name !== 'electron' && !names.has(name.split('/', 1)[0] ?? ''))).toEqual(
      [],
    );
  });

  it('has its native parts outside the archive', async () => {
    const unpacked = path.join(packed, 'resources', 'app.asar.unpacked', 'node_modules');
    const native = files.filter((file) => file.endsWith('.node'));
    expect(native.some((file) => file.includes('koffi'))).toBe(true);
    expect(native).toContain('/node_modules/keytar/build/Release/keytar.node');
    for (const file of native) {
      expect(readFileSync(path.join(unpacked, file.slice('/node_modules'.length))).length).toBeGreaterThan(0);
    }
  });

  it('brings the executable of one file along as its keyturn, where the app looks for it', async () => {
    const resources = path.join(packed, 'resources');
    const program = path.join(packed, 'keyturn-desktop');
    const brought = broughtCommand({ env: {}, isPackaged: true, program }, resources, 'linux') ?? '';
    expect(brought).toBe(path.join(resources, 'keyturn'));
    expect((await run(brought)).stdout).toBe('the command\n');
    // One that the user installed comes first.
    const installed = installedCommand({ PATH: '/nowhere' }, folder);
    const found = installedCommand({ PATH: '/nowhere' }, folder, brought);
    expect(found).toEqual(installed ?? { words: [brought], env: {} });
    const image = { APPIMAGE: '/home/a/Keyturn.AppImage', APPDIR: packed };
    expect(broughtCommand({ env: image, isPackaged: true, program }, resources, 'linux')).toBeUndefined();
  });

  it('starts at main.js, as an ES module, and knows its version', () => {
    const archive = path.join(packed, 'resources', 'app.asar');
    const read = (file: string): unknown => JSON.parse(asar().extractFile(archive, file).toString());
    expect(read('package.json')).toMatchObject({
      main: 'dist/app/electron/main.js',
      type: 'module',
      productName: 'Keyturn',
    });
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(read('dist/app/package.json')).toEqual({ version, type: 'module' });
  });

  it('is known to the desktop by the name of the file that its packages install', () => {
    const archive = path.join(packed, 'resources', 'app.asar');
    const { desktopName } = JSON.parse(asar().extractFile(archive, 'package.json').toString()) as {
      desktopName: string;
    };
    // A package's desktop file has the name of the program, and so has its icon.
    const program = path.join(packed, path.basename(desktopName, '.desktop'));
    expect(readFileSync(program).length).toBeGreaterThan(0);
    const autostart = readFileSync(path.join(root, 'electron', 'system', 'login-item.ts'), 'utf8');
    expect(autostart).toContain(`'Icon=${path.basename(program)}'`);
  });

  it('has its fuses blown', () => {
    const binary = readFileSync(path.join(packed, 'keyturn-desktop')).toString('latin1');
    const at = binary.indexOf(sentinel) + sentinel.length + 2;
    const wire = Object.fromEntries(fuses.map((name, index) => [name, binary[at + index] === '1']));
    expect(wire).toMatchObject(blown);
  });
});

it('a package for macOS is refused before anything is built if nothing says as whom to notarize it', async () => {
  const env = { PATH: process.env['PATH'] ?? '' };
  const refused = run(process.execPath, [path.join(root, 'scripts', 'package.mjs'), '--mac'], { env });
  await expect(refused).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('APPLE_KEYCHAIN_PROFILE'),
  });
});

it('a package for macOS is refused before anything is built if the native code is here for one processor only', async () => {
  const env = { PATH: process.env['PATH'] ?? '', APPLE_KEYCHAIN_PROFILE: 'somebody' };
  const refused = run(process.execPath, [path.join(root, 'scripts', 'package.mjs'), '--mac'], { env });
  await expect(refused).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/koffi-darwin-x64@[\d.]+ @koromix\/koffi-darwin-arm64@[\d.]+\n$/),
  });
});

describe('electron-builder.yml', () => {
  const text = readFileSync(path.join(root, 'electron-builder.yml'), 'utf8');

  it('asks for every fuse by name', () => {
    const [, section = ''] = /^electronFuses:\n((?: {2}(?:\w+: \w+|#.*)\n)+)/m.exec(text) ?? [];
    const asked = section
      .trim()
      .split('\n')
      .filter((line) => !line.trim().startsWith('#'))
      .map((line) => line.trim().split(': '));
    expect(Object.fromEntries(asked.map(([name, value]) => [name, value === 'true']))).toEqual({
      ...blown,
      resetAdHocDarwinSignature: true,
    });
  });

  it('makes a package for every system, hardened on macOS, and no update of its own', () => {
    for (const line of [
      'target: [AppImage, deb, rpm]',
      'target:\n    - target: dmg\n      arch: universal\n    - target: zip\n      arch: universal',
      'mergeASARs: true',
      'target: nsis',
      'hardenedRuntime: true',
      'entitlements: assets/entitlements.mac.plist',
      'publish: null',
      '(libsecret or libsecret-1-0),',
      '/usr/bin/dbus-monitor,',
      'forceCodeSigning: true',
      'appImage:\n  # Else its menu entry starts the app with --no-sandbox, which the app refuses.\n  executableArgs: []',
      'asar: true',
    ]) {
      expect(text).toContain(line);
    }
    const [, sameOnBoth = ''] = /x64ArchFiles: '(.*)'/.exec(text) ?? [];
    const koffi = 'app.asar.unpacked/node_modules/@koromix/koffi-darwin-x64/darwin_x64/koffi.node';
    expect(path.matchesGlob(`Contents/Resources/${koffi}`, sameOnBoth)).toBe(true);
    const entitlements = readFileSync(path.join(root, 'assets', 'entitlements.mac.plist'), 'utf8');
    expect(entitlements).not.toMatch(
      /get-task-allow|disable-library-validation|allow-dyld|unsigned-executable/,
    );
  });
});
