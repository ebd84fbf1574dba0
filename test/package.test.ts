/** The package as users get it: packed, installed where nothing else is, and used. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeInWorld, newHome } from './support/home.ts';
import { readTree, staticClosure } from './support/source/imports.ts';
import { verdictOn } from './support/servers/notebook.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..');

/** Milliseconds: an installation from the registry takes the network's time, and a busy machine's. */
const installing = 300_000;

interface Packed {
  filename: string;
  files: { path: string }[];
}

let folder: string;
let tarball: string;
let files: string[];
let installed: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'kt-package-'));
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const [manifest] = JSON.parse(packed.stdout) as [Packed];
  tarball = path.join(folder, manifest.filename);
  files = manifest.files.map((file) => file.path);
  const prefix = path.join(folder, 'prefix');
  mkdirSync(prefix);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', ...flags, '--prefix', prefix, tarball], { cwd: prefix });
  installed = path.join(prefix, 'node_modules', 'keyturn');
}, installing);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function packageOf(target: string): string {
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

describe('the tarball', () => {
  it('holds the program and its papers, and nothing else', () => {
    const wanted =
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md|docs\/[\w./-]+\.md|dist\/[\w./-]+\.(js|d\.ts))$/;
    expect(files.filter((file) => !wanted.test(file))).toEqual([]);
    expect(files.filter((file) => /\.map$|(^|\/)test/.test(file))).toEqual([]);
    for (const file of [
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'dist/cli/bin.js',
      'dist/client/index.js',
      'dist/client/index.d.ts',
      'dist/server/index.js',
      'dist/server/node.js',
      'dist/server/express.js',
      'dist/server/authorization/index.js',
      'dist/server/third-party/index.js',
    ]) {
      expect(files).toContain(file);
    }
  });

  it('imports at run time only what it lists as its dependencies, and files that are in it', () => {
    const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(
      readFileSync(path.join(installed, 'package.json'), 'utf8'),
    ) as Record<string, Record<string, string>>;
    const listed = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    const built = readTree(path.join(installed, 'dist'), ['.js']);
    const missing = [...built].flatMap(([file, { imports }]) =>
      imports
        .map(({ target }) => target)
        .filter((target) => !built.has(target) && !isBuiltin(target) && !listed.has(packageOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(missing).toEqual([]);
    expect(listed).toContain('keytar');
  });

  it('holds the program in few files: its packages are in them, but for native and optional ones', () => {
    const built = readTree(path.join(installed, 'dist', 'cli'), ['.js']);
    const targets = [...built.values()].flatMap(({ imports }) => imports.map(({ target }) => target));
    const outside = targets.filter((target) => !isBuiltin(target) && !built.has(target));
    expect([...new Set(outside)].toSorted()).toEqual(['keytar', 'koffi', 'oidc-provider']);
    // A set yields what is added while it is walked.
    const loaded = new Set(['bin.js', 'keychain-worker.js', 'proxy-worker.js']);
    for (const file of loaded) for (const { target } of built.get(file)?.imports ?? []) loaded.add(target);
    expect([...built.keys()].filter((file) => !loaded.has(file))).toEqual([]);
  });

  it('holds what every `keyturn token` loads in one file, and takes modules of Node’s past the loader of ES modules', () => {
    const built = readTree(path.join(installed, 'dist', 'cli'), ['.js']);
    const imported = (file: string): string[] =>
      (built.get(file)?.imports ?? []).filter(({ kind }) => kind === 'static').map(({ target }) => target);
    expect(imported('main.js')).toEqual(['lean.js']);
    expect(imported('lean.js')).toEqual([]);
    expect([...built.keys()].flatMap(imported).filter(isBuiltin)).toEqual([]);
  });

  it('holds the client library in one file, beside the errors that all libraries share', () => {
    const built = readTree(path.join(installed, 'dist'), ['.js']);
    const loaded = staticClosure(built, 'client/index.js');
    expect([...loaded].filter((target) => !isBuiltin(target)).toSorted()).toEqual([
      'base/errors.js',
      'base/text/visible.js',
      'client/index.js',
    ]);
    expect([...built.keys()].filter((file) => /^(client|ipc)\//.test(file))).toEqual(['client/index.js']);
  });

  it('is what publint and attw expect of a package', async () => {
    // Both exit with a failure where they find something.
    await run(process.execPath, [binOf('publint'), '--strict', tarball], { cwd: folder });
    await run(process.execPath, [binOf('@arethetypeswrong/cli'), '--profile', 'esm-only', tarball], {
      cwd: folder,
    });
  });
});

describe('installed in an empty folder', () => {
  const bin = (): string => path.join(installed, 'dist', 'cli', 'bin.js');

  it('shows its help and its version', async () => {
    const home = newHome({ bin: bin() });
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(await home.ok(['--version'])).toBe(`keyturn ${version}\n`);
    expect(await home.ok(['--help'])).toContain('Usage: keyturn COMMAND');
    const command = path.join(installed, '..', '.bin', 'keyturn');
    expect((await run(command, ['--version'])).stdout).toBe(`keyturn ${version}\n`);
    expect(existsSync(home.folder)).toBe(false);
  });

  it('names the package that `keyturn serve` wants besides, with the command that installs it', async () => {
    const config = path.join(temporaryFolder(), 'serve.json');
    // Any free port: the ports by default may be taken.
    writeFileSync(config, JSON.stringify({ authorizationServer: { port: 0 }, protectedServer: { port: 0 } }));
    const refused = await newHome({ bin: bin() }).keyturn(['serve', '--config', config]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('npm install oidc-provider@9');
  });

  it('runs a broker and gets a token that the protected server takes', async () => {
    const { home, world, resource } = await homeInWorld({ bin: bin() });
    const broker = home.start(['daemon']);
    await broker.says('the broker listens on');
    await home.ok(['allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    expect((await verdictOn(world, token)).status).toBe(200);
    await home.ok(['daemon', '--stop']);
    expect((await broker.ended).code).toBe(0);
    // And by itself, where none runs.
    expect(await home.ok(['list', '--json'])).toContain('loginRequired');
  });

  it('is imported as keyturn/client by another program', async () => {
    const program =
      "import('keyturn/client').then((library) => console.log(Object.keys(library).sort().join(' ')))";
    const { stdout } = await run(process.execPath, ['-e', program], {
      cwd: path.join(installed, '..', '..'),
    });
    expect(stdout).toBe('KeyturnError connect createFetch pair transportOptions\n');
  });

  it('is imported as keyturn/server by another program, in three forms', async () => {
    const program =
      "Promise.all(['', '/node', '/express'].map((form) => import('keyturn/server' + form)))" +
      ".then((all) => console.log(all.map((one) => Object.keys(one).sort().join(' ')).join('; ')))";
    const { stdout } = await run(process.execPath, ['-e', program], {
      cwd: path.join(installed, '..', '..'),
    });
    expect(stdout).toBe(
      'KeyturnError introspection jwt protect protectedServer upstreamFetch; ' +
        'fetchListener nodeListener; accessOf metadata protect\n',
    );
  });
});

/** The command file of a development tool, as its package names it. */
function binOf(name: string): string {
  const at = path.join(root, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  return path.join(at, typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? ''));
}
