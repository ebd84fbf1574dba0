/** What the program of one file is made of on this machine: the bundle, native packages, and Node itself. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');
const modules = path.join(root, 'node_modules');

/** Of package.json. */
export const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  version: string;
};

export const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** The Node that the dependencies bring, which runs this too. */
export const nodePackage = path.join(modules, `node-linux-${process.arch}`);

/** The native packages that it brings; paths go from node_modules. */
export const nativeFiles = {
  'koffi.node': `@koromix/koffi-linux-${process.arch}/linux_${process.arch}/koffi.node`,
  'keytar.node': 'keytar/build/Release/keytar.node',
};

/** Throws where this machine can't make the program. */
export function requireParts(): void {
  const bin = path.join(root, 'dist', 'cli', 'bin.js');
  const missing = [
    bin,
    path.join(nodePackage, 'bin', 'node'),
    ...Object.values(nativeFiles).map((file) => path.join(modules, file)),
  ].find((file) => !existsSync(file));
  if (missing === undefined) return;
  throw new Error(
    `${missing} is missing. Run npm run setup on Linux (x64 or arm64), with a C++ compiler and libsecret-1-dev.`,
  );
}

/** Symbols for debuggers are a seventh of Node's size. Without the tool they stay. */
export function strip(file: string): void {
  spawnSync('strip', ['--strip-unneeded', '--remove-section=.comment', '--remove-section=.note', file], {
    stdio: 'ignore',
  });
}
