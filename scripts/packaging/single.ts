/**
 * The program as one executable file: Node with a script of everything and the native packages inside (Node's single
 * executable applications).
 *
 * Invariant: the executable takes no option of Node's, from its arguments or from NODE_OPTIONS.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'vite';
import { nodeFlags } from '../../src/cli/broker/auto-start.ts';
import { nativeFiles, nodePackage, requireParts, root, sha256, strip, version } from './program.ts';

/** A system that the executable is for, and what goes into it. */
export interface SingleTarget {
  /** Of the executable. */
  readonly file: string;
  /** The Node that becomes the executable. */
  readonly node: string;
  /** The same version of Node for this machine: only that writes what the other one reads. */
  readonly writer: string;
  /** Native packages, by the names that they have in the executable. */
  readonly natives: Readonly<Record<string, string>>;
}

const source = (file: string): string => path.join(root, 'src', file);
const ownModule = (file: string): string => path.join(root, 'node_modules', file);

/** For a Linux of this machine's architecture. */
export function linuxTarget(): SingleTarget {
  requireParts();
  const node = path.join(nodePackage, 'bin', 'node');
  return {
    file: `keyturn-linux-${process.arch}`,
    node,
    writer: node,
    natives: {
      'koffi.node': ownModule(nativeFiles['koffi.node']),
      'keytar.node': ownModule(nativeFiles['keytar.node']),
    },
  };
}

/** For Windows (x64), of two packages of npm: Node's for Windows and koffi's native part. */
export function windowsTarget(packages: {
  readonly node: string;
  readonly koffi: string;
  readonly writer: string;
}): SingleTarget {
  return {
    file: 'keyturn-win-x64.exe',
    node: path.join(packages.node, 'bin', 'node.exe'),
    writer: packages.writer,
    natives: { 'koffi.node': path.join(packages.koffi, 'win32_x64', 'koffi.node') },
  };
}

/** Modules that are others in the executable, each with its text. */
function replaced({ natives }: SingleTarget): Readonly<Record<string, string>> {
  const load = (name: string): string => `loadNative('${name}', '${sha256(natives[name] ?? '')}')`;
  const native = `import { loadNative } from '${source('base/system/native.ts')}';\n`;
  const keytar = natives['keytar.node']
    ? `${native}export const loadKeytar = async () => ${load('keytar.node')};`
    : `export { loadCredentialManager as loadKeytar } from '${source('base/windows/credentials.ts')}';`;
  return {
    [source('base/system/single.ts')]: 'export const isSingle = true;',
    [source('daemon/system/version.ts')]: `export const version = '${version}';`,
    [source('vault/keychain/keytar.ts')]: keytar,
    [ownModule('koffi/src/koffi/src/static.js')]:
      `${native}export const loadStatic = () => ${load('koffi.node')};`,
  };
}

/** A package that `keyturn dev-server` wants besides, and that no executable brings. */
const outside = ['oidc-provider'];

async function bundle(folder: string, target: SingleTarget): Promise<string> {
  const texts = replaced(target);
  const plugin: Plugin = { name: 'single', enforce: 'pre', load: (id) => texts[id] ?? null };
  await build({
    configFile: false,
    logLevel: 'warn',
    root,
    plugins: [plugin],
    ssr: { noExternal: true, external: outside, target: 'node' },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'node24',
      rolldownOptions: {
        input: { single: source('cli/single.ts') },
        // As in scripts/build.mjs.
        treeshake: {
          moduleSideEffects: [
            {
              test: /reflect-metadata|@peculiar|tsyringe|\/src\/cli\/single|-worker\.ts$/,
              sideEffects: true,
            },
            { test: /./, sideEffects: false },
          ],
        },
        output: {
          format: 'cjs',
          codeSplitting: false,
          comments: { annotation: false, jsdoc: false, legal: true },
          minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
          entryFileNames: '[name].cjs',
        },
      },
    },
  });
  return path.join(folder, 'single.cjs');
}

/** Writes the executable into `output`, and answers its path. `work` is an empty folder. */
export async function buildSingle(work: string, output: string, target: SingleTarget): Promise<string> {
  const main = await bundle(work, target);
  const blob = path.join(work, 'single.blob');
  const config = path.join(work, 'single.json');
  const isForeign = target.writer !== target.node;
  writeFileSync(
    config,
    JSON.stringify({
      main,
      output: blob,
      assets: target.natives,
      disableExperimentalSEAWarning: true,
      // What V8 compiled on one system crashes on another.
      useCodeCache: !isForeign,
      execArgv: nodeFlags,
      execArgvExtension: 'none',
    }),
  );
  // With the flags that the program runs with: V8 rejects a cache that was written under others.
  execFileSync(target.writer, [...nodeFlags, '--experimental-sea-config', config], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  mkdirSync(output, { recursive: true });
  const file = path.join(output, target.file);
  copyFileSync(target.node, file);
  chmodSync(file, 0o755);
  if (isForeign) removeSignature(file);
  else strip(file);
  await inject(file, blob);
  return file;
}

/** Where a PE file says where its signature is: the end of the header's fixed part, and the fifth of its tables. */
const peAt = 0x3c;
const certificateTable = 24 + 112 + 4 * 8;

/** Node's signature covers Node alone: with the program inside, Windows would call the file damaged. */
function removeSignature(file: string): void {
  const bytes = readFileSync(file);
  const entry = bytes.readUInt32LE(peAt) + certificateTable;
  const [start, size] = [bytes.readUInt32LE(entry), bytes.readUInt32LE(entry + 4)];
  if (start === 0) return;
  if (start + size !== bytes.length) throw new Error(`The signature in ${file} isn't where it is expected.`);
  bytes.fill(0, entry, entry + 8);
  writeFileSync(file, bytes.subarray(0, start));
}

interface Postject {
  inject(file: string, name: string, data: Buffer, options: { sentinelFuse: string }): Promise<void>;
}

/** Where Node looks for the script, and the mark that says that there is one (node.js.org, single executable applications). */
async function inject(file: string, blob: string): Promise<void> {
  const postject = createRequire(import.meta.url)('postject') as Postject;
  await postject.inject(file, 'NODE_SEA_BLOB', readFileSync(blob), {
    sentinelFuse: 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2',
  });
}
