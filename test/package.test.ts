/** The packages as users get them: packed, installed where nothing else is, and used. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { homeInWorld, newHome } from './support/home.ts';
import { readTree, staticClosure } from './support/built-imports.ts';
import { freePort } from './support/servers/port.ts';
import { verdictOn } from './support/servers/notebook.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..');

/** Milliseconds: an installation from the registry takes the network's time, and a busy machine's. */
const installing = 300_000;

const folder = temporaryFolder(afterAll);

/** Packages by their short names, each installed alone where nothing else is. */
const packages = ['keyturn', 'client', 'server'] as const;
type Name = (typeof packages)[number];

const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
const tarball = (name: Name): string =>
  path.join(folder, `keyturn${name === 'keyturn' ? '' : `-${name}`}-${version}.tgz`);
const modules = (name: Name): string => path.join(folder, name, 'node_modules');
const installed = (name: Name): string =>
  path.join(modules(name), name === 'keyturn' ? 'keyturn' : `@keyturn/${name}`);

beforeAll(async () => {
  await run(process.execPath, [path.join(root, 'scripts', 'pack.ts'), folder], { cwd: root });
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  for (const name of packages) {
    mkdirSync(path.join(folder, name));
    writeFileSync(path.join(folder, name, 'package.json'), '{"type":"module"}');
    await run('npm', ['install', ...flags, tarball(name)], { cwd: path.join(folder, name) });
  }
}, installing);

function packageOf(target: string): string {
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/');
}

const filesOf = (name: Name): string[] =>
  readdirSync(installed(name), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(installed(name), path.join(entry.parentPath, entry.name)));

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
  readonly man?: readonly string[];
}

function manifestOf(name: Name): Manifest {
  return JSON.parse(readFileSync(path.join(installed(name), 'package.json'), 'utf8')) as Manifest;
}

describe.each(packages)('the tarball of %s', (name) => {
  it('holds code, papers and man pages, and nothing else', () => {
    const wanted =
      /^(package\.json|LICENSE|[A-Z]+\.md|clients\/python\/keyturn\.py|docs\/[\w./-]+\.(md|png)|man\/keyturn[\w-]*\.1|[\w./-]+\.(js|d\.ts))$/;
    expect(filesOf(name).filter((file) => !wanted.test(file))).toEqual([]);
    expect(filesOf(name).filter((file) => /(^|\/)test/.test(file))).toEqual([]);
    expect(filesOf(name)).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']));
    for (const page of manifestOf(name).man ?? []) expect(filesOf(name)).toContain(path.join(page));
  });

  it('links only to what it holds', () => {
    const targets = filesOf(name)
      .filter((file) => file.endsWith('.md'))
      .flatMap((file) => {
        const text = readFileSync(path.join(installed(name), file), 'utf8');
        const links = text.matchAll(/(?:\]\(|src="|srcset=")(?!https?:|#|mailto:)([^)#"\s]+)/g);
        return Array.from(links, ([, target = '']) => path.join(path.dirname(file), target));
      });
    expect(targets.filter((target) => !existsSync(path.join(installed(name), target)))).toEqual([]);
  });

  it('imports at run time only its dependencies and its own files', () => {
    const { dependencies, optionalDependencies, peerDependencies } = manifestOf(name);
    const listed = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
    const built = readTree(installed(name));
    const missing = [...built].flatMap(([file, { imports }]) =>
      imports
        .map(({ target }) => target)
        .filter((target) => !built.has(target) && !isBuiltin(target) && !listed.has(packageOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(missing).toEqual([]);
  });

  it('is what publint and attw expect of a package', async () => {
    // Both exit with a failure where they find something.
    await run(process.execPath, [binOf('publint'), '--strict', tarball(name)], { cwd: folder });
    if (name === 'keyturn') return;
    const attw = binOf('@arethetypeswrong/cli');
    await run(process.execPath, [attw, '--profile', 'esm-only', tarball(name)], { cwd: folder });
  });
});

it('the program is few files: its packages are in them, but for native and optional ones', () => {
  const built = readTree(path.join(installed('keyturn'), 'dist', 'cli'));
  const targets = [...built.values()].flatMap(({ imports }) => imports.map(({ target }) => target));
  const outside = targets.filter((target) => !isBuiltin(target) && !built.has(target));
  expect([...new Set(outside)].toSorted()).toEqual(['keytar', 'koffi', 'oidc-provider']);
  // A set yields what is added while it is walked.
  const loaded = new Set(['bin.js', 'keychain-worker.js', 'proxy-worker.js']);
  for (const file of loaded) for (const { target } of built.get(file)?.imports ?? []) loaded.add(target);
  expect([...built.keys()].filter((file) => !loaded.has(file))).toEqual([]);
});

it('the MCP server loads nothing of Node and no package but three that run anywhere', () => {
  const loaded = [...staticClosure(readTree(installed('server')), 'server/index.js')];
  const foreign = loaded.filter((target) => !target.endsWith('.js') || target === 'ipaddr.js');
  expect(foreign.toSorted()).toEqual(['ipaddr.js', 'jose', 'zod']);
});

describe('installed in an empty folder', () => {
  const bin = (): string => path.join(installed('keyturn'), 'dist', 'cli', 'bin.js');

  it('shows its help and its version', async () => {
    const home = newHome({ bin: bin() });
    expect(await home.ok(['--version'])).toBe(`keyturn ${version}\n`);
    expect(await home.ok(['--help'])).toContain('Usage: keyturn COMMAND');
    const command = path.join(modules('keyturn'), '.bin', 'keyturn');
    expect((await run(command, ['--version'])).stdout).toBe(`keyturn ${version}\n`);
    expect(existsSync(home.folder)).toBe(false);
  });

  it('names the command that installs what `keyturn dev-server` wants besides', async () => {
    const config = path.join(temporaryFolder(), 'serve.json');
    // Any free port: the ports by default may be taken.
    writeFileSync(config, JSON.stringify({ authorizationServer: { port: 0 }, protectedServer: { port: 0 } }));
    const refused = await newHome({ bin: bin() }).keyturn(['dev-server', '--config', config]);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('npm install oidc-provider@9');
  });

  it('runs a broker and gets a token that the MCP server takes', async () => {
    const { home, world, resource } = await homeInWorld({ bin: bin() });
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    await home.ok(['app', 'allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    expect((await verdictOn(world, token)).status).toBe(200);
    await home.ok(['broker', 'stop']);
    expect((await broker.ended).code).toBe(0);
    // And by itself, where none runs.
    expect(await home.ok(['sign-in', 'list', '--json'])).toBe('[]\n');
  });

  it('lets another program import the client, and run its README', async () => {
    writeProgram('client');
    const { home, resource } = await homeInWorld({ bin: bin() });
    home.start(['broker', 'run']);
    const cwd = path.join(folder, 'client');
    const refused = run(process.execPath, ['readme.mts', 'list', resource], { cwd, env: home.env });
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining('pair') });
  });

  it('lets another program import the server in its forms, and run its README', async () => {
    const forms = ['', '/node', '/express'].map((form) => `import('@keyturn/server${form}')`).join(', ');
    const names = `Promise.all([${forms}]).then((all) => console.log(all.map((one) => Object.keys(one).sort().join(' ')).join('; ')))`;
    const cwd = path.join(folder, 'server');
    const { stdout } = await run(process.execPath, ['-e', names], { cwd });
    expect(stdout).toBe(
      'KeyturnError introspection jwt protect protectedServer upstreamFetch; ' +
        'fetchListener nodeListener; accessOf metadata protect\n',
    );
    writeProgram('server');
    const resource = `http://127.0.0.1:${await freePort()}/mcp`;
    const program = spawn(process.execPath, ['readme.mts', resource], {
      cwd,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void program.kill());
    await once(program.stdout, 'data');
    const answer = await fetch(resource, { method: 'POST' });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('notes:read'),
    ]);
  });

  it.each(['client', 'server'] as const)(
    'says which Node the %s needs on one that is too old',
    async (name) => {
      const call = { client: "connect({ name: 'notes' })", server: 'protectedServer({})' }[name];
      const program = `delete Promise.withResolvers; import('@keyturn/${name}').then((all) => all.${call}).catch((error) => console.log(error.message))`;
      const { stdout } = await run(process.execPath, ['-e', program], { cwd: path.join(folder, name) });
      expect(stdout).toContain(`@keyturn/${name} needs Node 22.19 or newer.`);
    },
  );
});

/** The example of a package's README, as a program beside it. */
function writeProgram(name: Name): void {
  const text = readFileSync(path.join(installed(name), 'README.md'), 'utf8');
  writeFileSync(path.join(folder, name, 'readme.mts'), /```ts\n([^]*?)```/.exec(text)?.[1] ?? '');
}

/** The command file of a development tool, as its package names it. */
function binOf(name: string): string {
  const at = path.join(root, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(path.join(at, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  return path.join(at, typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? ''));
}
