/**
 * The command and the broker as one folder with all that they load: the bundle, native packages, and Node itself.
 *
 * Invariant: the folder needs nothing of npm and nothing that isn't in it but the system's libraries.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');
const modules = path.join(root, 'node_modules');

/** Of package.json. */
export const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  version: string;
};

/** The Node that the dependencies bring, which runs this too. */
export const nodePackage = path.join(modules, `node-linux-${process.arch}`);

/** What is loaded of each package that stays outside the bundle; paths go from node_modules. */
const nativeFiles: readonly string[] = [
  'koffi/package.json',
  'koffi/index.js',
  'koffi/src/koffi/index.js',
  'koffi/src/koffi/src/static.js',
  `@koromix/koffi-linux-${process.arch}/package.json`,
  `@koromix/koffi-linux-${process.arch}/index.js`,
  `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`,
  'keytar/package.json',
  'keytar/lib/keytar.js',
  'keytar/build/Release/keytar.node',
];

/** Throws where this machine can't make the folder. */
export function requireParts(): void {
  const bin = path.join(root, 'dist', 'cli', 'bin.js');
  const missing = [
    bin,
    path.join(nodePackage, 'bin', 'node'),
    ...nativeFiles.map((file) => path.join(modules, file)),
  ].find((file) => !existsSync(file));
  if (missing === undefined) return;
  throw new Error(
    `${missing} is missing. Run npm run setup on Linux (x64 or arm64), with a C++ compiler and libsecret-1-dev.`,
  );
}

/** Fills `folder`; `runsAt` is where it will lie. */
export function writeProgram(folder: string, runsAt: string): void {
  requireParts();
  mkdirSync(folder, { recursive: true });
  cpSync(path.join(root, 'dist', 'cli'), path.join(folder, 'cli'), { recursive: true });
  for (const file of nativeFiles) {
    const to = path.join(folder, 'node_modules', file);
    mkdirSync(path.dirname(to), { recursive: true });
    copyFileSync(path.join(modules, file), to);
    chmodSync(to, 0o644);
    if (file.endsWith('.node')) strip(to);
  }
  writeFileSync(
    path.join(folder, 'package.json'),
    `${JSON.stringify({ name: 'keyturn', version, type: 'module' })}\n`,
  );
  const node = path.join(folder, 'node');
  copyFileSync(path.join(nodePackage, 'bin', 'node'), node);
  strip(node);
  chmodSync(node, 0o755);
  const bin = path.join(folder, 'cli', 'bin.js');
  const [, ...lines] = readFileSync(bin, 'utf8').split('\n');
  writeFileSync(bin, [`#!${runsAt}/node`, ...lines].join('\n'));
  chmodSync(bin, 0o755);
}

/** Symbols for debuggers are a seventh of Node's size. Without the tool they stay. */
export function strip(file: string): void {
  spawnSync('strip', ['--strip-unneeded', '--remove-section=.comment', '--remove-section=.note', file], {
    stdio: 'ignore',
  });
}
