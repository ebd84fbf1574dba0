/**
 * `npm run release`: all that a release has, into release/: the npm packages, the Python wheel, the programs of one file, man pages, bills of
 * materials, the notes, and the checksums of all of them.
 *
 * Invariant: only from a checkout without changes whose commit has the tag of its version, so that anybody can build the same again.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { releaseNotes } from './packaging/notes.ts';
import { root, sha256, version } from './packaging/program.ts';

const textOf = (name: string): string => readFileSync(path.join(root, name), 'utf8');

const release = path.join(root, 'release');

const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

/** The first Python that can build a wheel: one of another installation often stands before the system's. */
const python = ['python3', '/usr/bin/python3'].find(
  (program) => spawnSync(program, ['-c', 'import build, setuptools'], { stdio: 'ignore' }).status === 0,
);

/** Says why this checkout can't be released; empty if it can. */
function obstacle(): string {
  if (git('status', '--porcelain') !== '') return 'the checkout has changes: commit them first.';
  const tag = `v${version}`;
  if (!git('tag', '--points-at', 'HEAD').split('\n').includes(tag))
    return `this commit lacks the tag ${tag}: git checkout ${tag}, or git tag ${tag} for a new release.`;
  if (python === undefined)
    return 'the wheel needs Python with build and setuptools: sudo apt install python3-build python3-setuptools.';
  return '';
}

/** From a copy: setuptools writes beside what it builds. */
function buildWheel(program: string): void {
  const folder = mkdtempSync(path.join(tmpdir(), 'keyturn-wheel-'));
  try {
    const source = path.join(folder, 'python');
    cpSync(path.join(root, 'clients', 'python'), source, { recursive: true });
    const args = ['-m', 'build', '--no-isolation', '--wheel', '--outdir', release, source];
    execFileSync(program, args, { stdio: ['ignore', 2, 2] });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function build(): void {
  // First: it throws where the changelog has no section for this version.
  const notes = releaseNotes(version, textOf('CHANGELOG.md'), textOf('docs/install.md'));
  rmSync(release, { recursive: true, force: true });
  mkdirSync(release);
  const run = (command: string, ...args: string[]): void =>
    void execFileSync(command, args, { cwd: root, stdio: ['ignore', 2, 2] });
  const script = (name: string, ...args: string[]): void =>
    run(process.execPath, path.join(root, 'scripts', name), ...args);
  script('pack.ts', release);
  if (python !== undefined) buildWheel(python);
  script('package-single.ts', '--output', release);
  script('sbom.mjs', path.join(release, `keyturn-${version}.cdx.json`));
  writeFileSync(path.join(release, 'NOTES.md'), notes);
}

/** In the form that `sha256sum --check` reads. */
function checksums(): string {
  return readdirSync(release, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const name = path.relative(release, path.join(entry.parentPath, entry.name));
      return `${sha256(path.join(release, name))}  ${name}\n`;
    })
    .join('');
}

const why = obstacle();
if (why === '') {
  build();
  writeFileSync(path.join(release, 'SHA256SUMS'), checksums());
  process.stdout.write(`${release}\n`);
} else {
  process.stderr.write(`release: ${why}\n`);
  process.exitCode = 1;
}
