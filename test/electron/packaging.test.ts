/** The packed app: electron-builder itself, over a stub of Electron, and what came out. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { broughtCommand } from '../../electron/system/own-command.ts';
import { fuseFaults } from '../../scripts/packaging/known-fuses.mjs';
import { forkChild } from '../../src/base/system/child.ts';
import { installedCommand } from '../../src/setup/own-command.ts';
import { freePort } from '../support/servers/port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { readTree } from '../support/built-imports.ts';
import { freshService, removeFreshItems, requireTestKeyring } from '../vault/keychain/keyring.ts';

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '..', '..');

/** Where the fuses stand in a binary (@electron/fuses): this text, a version, a count, and a character for each. */
const sentinel = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
/** What each must be, in their order. */
const blown: Readonly<Record<string, boolean>> = {
  runAsNode: false,
  enableCookieEncryption: false,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  enableEmbeddedAsarIntegrityValidation: true,
  onlyLoadAppFromAsar: true,
  loadBrowserProcessSpecificV8Snapshot: false,
  grantFileProtocolExtraPrivileges: false,
};
// The last one is as Electron ships it: electron-builder can't set it yet.
const fuses = [...Object.keys(blown), 'wasmTrapHandlers'];

/** The stub's: each fuse that must be off is on, and each that must be on is off. */
const shipped = '111100111';

/** A binary with these fuses. */
const binaryOf = (wire: string): string => `stub${sentinel}${String.fromCharCode(1, wire.length)}${wire}end`;

/** What the app brings along as its `keyturn`. */
const command = '#!/bin/sh\necho the command\n';

/** Milliseconds: electron-builder asks npm for the tree of packages, and reads each of them. */
const packing = 300_000;

const folder = temporaryFolder(afterAll);
let packed: string;
let files: string[];
/** The archive's files, outside the clone: none of its packages can answer for one that is missing here. */
let extracted: string;

beforeAll(async () => {
  const stub = path.join(folder, 'stub');
  mkdirSync(path.join(stub, 'resources'), { recursive: true });
  writeFileSync(path.join(stub, 'electron'), binaryOf(shipped));
  const builder = path.join(root, 'node_modules', 'electron-builder', 'cli.js');
  const choice = [`-c.electronDist=${stub}`, `-c.directories.output=${path.join(folder, 'out')}`];
  // In place of the executable of one file, whose own test builds it.
  writeFileSync(path.join(folder, `keyturn-linux-${process.arch}`), command, { mode: 0o755 });
  const env = { ...process.env, KEYTURN_EXECUTABLES: path.relative(root, folder) };
  await run(process.execPath, [builder, '--linux', '--dir', ...choice], { cwd: root, env });
  packed = path.join(folder, 'out', 'linux-unpacked');
  const archive = path.join(packed, 'resources', 'app.asar');
  files = asar().listPackage(archive, { isPack: false });
  extracted = path.join(folder, 'extracted');
  asar().extractAll(archive, extracted);
}, packing);

interface Asar {
  listPackage(archive: string, options: { isPack: boolean }): string[];
  extractFile(archive: string, file: string): Buffer;
  extractAll(archive: string, folder: string): void;
}

/** What electron-builder packs with; it isn't a dependency of ours. */
function asar(): Asar {
  const builder = createRequire(path.join(root, 'node_modules', 'app-builder-lib', 'package.json'));
  return builder('@electron/asar') as Asar;
}

/** Of a worker that is started for it and ends after it. */
async function firstAnswer(file: string, request: object): Promise<unknown> {
  const child = forkChild(file);
  const answer = new Promise((resolve, reject) => {
    child.onMessage(resolve);
    child.onExit(() => reject(new Error(`${file} ended without an answer`)));
  });
  child.post(request);
  return answer.finally(() => child.kill());
}

describe('the packed app', () => {
  it('holds the built program, and no test, source, map, tool or page of anybody’s', () => {
    const own = files.filter((file) => !file.startsWith('/node_modules'));
    const wanted =
      /^\/(package\.json|LICENSE|assets(\/(tray|icons)|\/tray\/\w+(@2x)?\.png|\/icons\/256x256\.png)?|dist|dist\/app(\/.*\.c?js|\/package\.json|\/[^.]*)?|dist\/renderer.*)$/;
    expect(own.filter((file) => !wanted.test(file))).toEqual([]);
    expect(own).toContain('/dist/app/electron/main.js');
    expect(own).toContain('/dist/app/electron/preload.cjs');
    expect(files.filter((file) => /\.(map|tsx?|mts|cts|md|cc|cpp|h|gyp|o)$/.test(file))).toEqual([]);
    expect(
      files.filter((file) => /\/(tests?|__tests__|examples?|docs?|coverage|\.github)\//.test(file)),
    ).toEqual([]);
    expect(own.filter((file) => /\/(cli|demo|test|renderer\/src)\//.test(file))).toEqual([]);
  });

  it('loads: each of its modules in plain Node, and each package that they name', async () => {
    const modules = readTree(path.join(extracted, 'dist', 'app'));
    const targets = [...modules.values()].flatMap(({ imports }) => imports.map(({ target }) => target));
    const packages = new Set(
      targets.filter((target) => /^[a-z@][^:]*$/.test(target) && !modules.has(target)),
    );
    packages.delete('electron');
    expect(packages).toContain('koffi');
    const program = path.join(extracted, 'load-packed.mjs');
    cpSync(path.join(root, 'test', 'support', 'electron', 'load-packed.mjs'), program);
    // Main's own import starts the app, as far as to the wait until Electron is ready.
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, KEYTURN_HOME: path.join(folder, 'home') };
    const { stdout } = await run(process.execPath, [program, ...packages], { cwd: folder, env });
    expect(Number(stdout)).toBeGreaterThan(modules.size);
  });

  it('keeps a secret by its keychain worker, and listens by its proxy worker', async () => {
    requireTestKeyring();
    const item = { service: freshService(), account: 'item' };
    onTestFinished(removeFreshItems);
    const keychain = path.join(extracted, 'dist/app/src/vault/keychain/keychain-worker.js');
    const set = await firstAnswer(keychain, { id: 1, op: 'set', value: 'a secret', ...item });
    expect(set).toEqual({ id: 1, ok: true, value: 'a secret' });
    const got = await firstAnswer(keychain, { id: 2, op: 'get', ...item });
    expect(got).toEqual({ id: 2, ok: true, value: 'a secret' });
    const entry = { id: 'notes', port: await freePort(), path: 'x'.repeat(16) };
    const proxy = path.join(extracted, 'dist/app/src/proxy/proxy-worker.js');
    const served = await firstAnswer(proxy, { op: 'serve', entries: [entry] });
    expect(served).toEqual({ op: 'state', entry: 'notes', state: 'open' });
  });

  it('brings the single executable as its keyturn', async () => {
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

  it('has its fuses blown', () => {
    const binary = readFileSync(path.join(packed, 'keyturn-desktop')).toString('latin1');
    const at = binary.indexOf(sentinel) + sentinel.length + 2;
    const wire = Object.fromEntries(fuses.map((name, index) => [name, binary[at + index] === '1']));
    expect(wire).toEqual({ ...blown, wasmTrapHandlers: true });
  });
});

it.each<[string, string, string[]]>([
  ['as it ships now', shipped, []],
  ['of a version without the last one', shipped.slice(0, -1), []],
  ['with one more', `${shipped}0`, ['Electron has a fuse that nobody here knows, at place 9']],
  ['whose last one has changed', '111100110', ['the fuse wasmTrapHandlers isn’t 1']],
])('the fuses of an Electron %s', async (_what, wire, faults) => {
  const file = path.join(temporaryFolder(), 'electron');
  writeFileSync(file, binaryOf(wire));
  expect(await fuseFaults(file, blown)).toEqual(faults);
  const { runAsNode: _, ...rest } = blown;
  expect(await fuseFaults(file, rest)).toContain('electron-builder.yml doesn’t name the fuse runAsNode');
});
