/**
 * The program as one executable file: Node with a script of everything and the native packages inside (Node's single
 * executable applications).
 *
 * Invariant: the executable takes no option of Node's, from its arguments or from NODE_OPTIONS.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'vite';
import { nodeFlags } from '../../src/cli/broker/auto-start.ts';
import { nodePackage, requireParts, root, strip, version } from './program.ts';

/** Native packages, by the names that they have in the executable. */
const natives: Readonly<Record<string, string>> = {
  'koffi.node': `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`,
  'keytar.node': 'keytar/build/Release/keytar.node',
};

const source = (file: string): string => path.join(root, 'src', file);
const nativeFile = (name: string): string => path.join(root, 'node_modules', natives[name] ?? '');
const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Modules that are others in the executable, each with its text. */
function replaced(): Readonly<Record<string, string>> {
  const load = (name: string): string => `loadNative('${name}', '${sha256(nativeFile(name))}')`;
  const native = `import { loadNative } from '${source('base/system/native.ts')}';\n`;
  return {
    [source('base/system/single.ts')]: 'export const isSingle = true;',
    [source('daemon/system/version.ts')]: `export const version = '${version}';`,
    [source('vault/keychain/keytar.ts')]:
      `${native}export const loadKeytar = async () => ${load('keytar.node')};`,
    [path.join(root, 'node_modules/koffi/src/koffi/src/static.js')]:
      `${native}export const loadStatic = () => ${load('koffi.node')};`,
  };
}

/** A package that `keyturn serve` wants besides, and that no executable brings. */
const outside = ['oidc-provider'];

async function bundle(folder: string): Promise<string> {
  const texts = replaced();
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

/** Writes `keyturn-linux-ARCH` into `output`, and answers its path. `work` is an empty folder. */
export async function buildSingle(work: string, output: string): Promise<string> {
  requireParts();
  const main = await bundle(work);
  const blob = path.join(work, 'single.blob');
  const assets = Object.fromEntries(Object.keys(natives).map((name) => [name, nativeFile(name)]));
  const config = path.join(work, 'single.json');
  writeFileSync(
    config,
    JSON.stringify({
      main,
      output: blob,
      assets,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      execArgv: nodeFlags,
      execArgvExtension: 'none',
    }),
  );
  const node = path.join(nodePackage, 'bin', 'node');
  execFileSync(node, ['--experimental-sea-config', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  mkdirSync(output, { recursive: true });
  const file = path.join(output, `keyturn-linux-${process.arch}`);
  copyFileSync(node, file);
  chmodSync(file, 0o755);
  strip(file);
  await inject(file, blob);
  return file;
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
