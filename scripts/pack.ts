/**
 * `node scripts/pack.ts FOLDER`: the published packages as npm tarballs, from the built dist/. `keyturn` is the broker and the
 * command, `@keyturn/client` and `@keyturn/server` the libraries.
 *
 * Invariant: a package holds all code of ours that it loads, so each installs without the others. Versions, license and the
 * command's place are the root manifest's.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { writeManual } from './packaging/manual-files.ts';
import { root, version } from './packaging/program.ts';

type Manifest = Record<string, unknown>;

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8')) as Manifest;

const { license, bin } = manifestOf('.');

/** What the program can't hold: the others of its dependencies are in it (scripts/build.mjs). */
const outside = ['koffi'];

/** What is packed beside the package's own manifest: files of the project, by their place in the package. */
function filesOf(folder: string, name: string): Record<string, string> {
  if (folder !== 'src') return { '.': `dist/${name}`, 'README.md': `${folder}/README.md` };
  const papers = ['README.md', 'SECURITY.md', 'CHANGELOG.md'];
  const whole = ['dist/cli', 'docs', 'clients/python/keyturn.py', ...papers];
  return Object.fromEntries(whole.map((one) => [one, one]));
}

/** The manifest of the packed form: exports name what was compiled, and what is in the program is no dependency any more. */
function packedManifest(folder: string, name: string, man: readonly string[]): Manifest {
  const { private: _unpublished, ...manifest } = manifestOf(folder);
  const dependencies = Object.entries((manifest['dependencies'] ?? {}) as Record<string, string>).filter(
    ([one]) => folder !== 'src' || outside.includes(one),
  );
  const exports = Object.entries((manifest['exports'] ?? {}) as Record<string, string>).map(
    ([subpath, file]) => [subpath, file.replace('./', `./${name}/`).replace(/\.ts$/, '.js')],
  );
  return {
    ...manifest,
    dependencies: Object.fromEntries(dependencies),
    version,
    license,
    ...(folder === 'src'
      ? { bin, man: man.map((page) => `./man/${page}`) }
      : { exports: Object.fromEntries(exports) }),
  };
}

/** A link to a page that isn't packed, such as one for developers, becomes plain text. */
function unlinkAbsent(stage: string): void {
  for (const name of globSync('**/*.md', { cwd: stage })) {
    const file = path.join(stage, name);
    const isThere = (target: string): boolean =>
      /^(?:#|[a-z]+:)/.test(target) || existsSync(path.join(path.dirname(file), target.replace(/#.*/, '')));
    const text = readFileSync(file, 'utf8').replaceAll(
      /\[([^\]]*)\]\(([^)\s]+)\)/g,
      (link: string, words: string, target: string) => (isThere(target) ? link : words),
    );
    writeFileSync(file, text);
  }
}

async function pack(folder: string, destination: string): Promise<void> {
  const name = path.basename(folder);
  const stage = mkdtempSync(path.join(tmpdir(), 'keyturn-pack-'));
  try {
    for (const [to, from] of Object.entries({ ...filesOf(folder, name), LICENSE: 'LICENSE' }))
      cpSync(path.join(root, from), path.join(stage, to), { recursive: true });
    unlinkAbsent(stage);
    const man = folder === 'src' ? await writeManual(path.join(stage, 'man')) : [];
    const manifest = packedManifest(folder, name, man);
    writeFileSync(path.join(stage, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', destination];
    execFileSync('npm', args, { cwd: stage, stdio: ['ignore', 2, 2] });
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

const [destination] = process.argv.slice(2);
if (destination === undefined) throw new Error('Usage: node scripts/pack.ts FOLDER, after npm run build');
for (const folder of ['src', 'src/client', 'src/server']) await pack(folder, path.resolve(destination));
