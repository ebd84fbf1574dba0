/**
 * The Debian package of the command and the broker: its files, its control data, and dpkg-deb.
 *
 * Invariants: it has no maintainer script, so that installing and removing it runs nothing of ours. Everything that a
 * person has lies in their own folders, which no package touches: `keyturn reset` removes it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { statements } from '../../src/cli/main.ts';
import { serviceUnit, socketUnit } from '../../src/cli/service/units.ts';
import { manualPages } from './manual.ts';
import { notices } from './notices.ts';
import { root, version, writeProgram } from './program.ts';

/** Where the program lies once it is installed. */
const library = '/usr/lib/keyturn';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

export interface DebOptions {
  /** An empty folder for the tree. */
  readonly work: string;
  /** Gets the package. */
  readonly output: string;
  /** Seconds since 1970: of all files, so that two builds give the same bytes. */
  readonly time: number;
  /** As dpkg-deb takes it, e.g. `xz`. */
  readonly compression: string;
}

/** The path of the package that was written. */
export function buildDeb({ work, output, time, compression }: DebOptions): string {
  const at = (name: string): string => path.join(work, name);
  writeProgram(at(library), library);
  mkdirSync(at('/usr/bin'), { recursive: true });
  symlinkSync('../lib/keyturn/cli/bin.js', at('/usr/bin/keyturn'));
  const date = new Date(time * 1000);
  writeTexts(work, textFiles(date));
  cpSync(path.join(root, 'docs'), at('/usr/share/doc/keyturn'), {
    recursive: true,
    filter: (file) => !file.includes(`${path.sep}images`),
  });
  const architecture = architectures[process.arch] ?? process.arch;
  writeTexts(work, { '/DEBIAN/control': control(work, architecture), '/DEBIAN/md5sums': sums(work) });
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', work]);
  mkdirSync(output, { recursive: true });
  const file = path.join(output, `keyturn_${version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', `-Z${compression}`, '--build', work, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(time) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return file;
}

function writeTexts(work: string, texts: Readonly<Record<string, string | Buffer>>): void {
  for (const [name, content] of Object.entries(texts)) {
    const file = path.join(work, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

/** Without its time, which gzip would write into the file: the same text gives the same bytes. */
const zipped = (text: string): Buffer => gzipSync(text, { level: 9 });

function textFiles(date: Date): Record<string, string | Buffer> {
  const day = date.toISOString().slice(0, 10);
  const asset = (name: string): string => readFileSync(path.join(root, 'assets', 'linux', name), 'utf8');
  const paper = (name: string): string => readFileSync(path.join(root, name), 'utf8');
  const filled = (text: string): string => text.replaceAll('@VERSION@', version).replaceAll('@DATE@', day);
  const man = Object.fromEntries(
    [...manuals(day)].map(([name, page]) => [`/usr/share/man/man1/${name}.gz`, zipped(page)]),
  );
  return {
    ...man,
    '/usr/share/bash-completion/completions/keyturn': completion('bash'),
    '/usr/share/zsh/vendor-completions/_keyturn': completion('zsh'),
    '/usr/share/fish/vendor_completions.d/keyturn.fish': completion('fish'),
    '/usr/lib/systemd/user/keyturn.service': serviceUnit({
      command: ['/usr/bin/keyturn', 'daemon'],
      documentation,
    }),
    '/usr/lib/systemd/user/keyturn.socket': socketUnit({
      path: '%t/keyturn/broker.sock',
      deskFile: '%h/.local/state/keyturn/desktop/command.json',
      documentation,
    }),
    '/usr/share/metainfo/io.keyturn.cli.metainfo.xml': filled(asset('io.keyturn.cli.metainfo.xml')),
    '/usr/share/lintian/overrides/keyturn': asset('lintian-overrides'),
    '/usr/share/doc/keyturn/copyright': notices(),
    '/usr/share/doc/keyturn/changelog.gz': zipped(changelog(date)),
    '/usr/share/doc/keyturn/CHANGELOG.md.gz': zipped(paper('CHANGELOG.md')),
    '/usr/share/doc/keyturn/README.md': paper('README.md'),
    '/usr/share/doc/keyturn/SECURITY.md': paper('SECURITY.md'),
  };
}

const documentation = 'man:keyturn(1) file:///usr/share/doc/keyturn/headless.md';

const all = await statements();

const manuals = (date: string): Map<string, string> => manualPages(all, { version, date });

function completion(shell: string): string {
  const bin = path.join(root, 'dist', 'cli', 'bin.js');
  return execFileSync(process.execPath, [bin, 'completion', shell], { encoding: 'utf8' });
}

const maintainer = 'The Keyturn maintainers <maintainers@keyturn.example>';

/** The form of deb-changelog(5), with the day's time in UTC. */
function changelog(date: Date): string {
  const when = date.toUTCString().replace('GMT', '+0000');
  return `keyturn (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${maintainer}  ${when}\n`;
}

function control(work: string, architecture: string): string {
  const kilobytes = Math.ceil(filesBelow(work).reduce((sum, file) => sum + statSync(file).size, 0) / 1024);
  return `Package: keyturn
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${kilobytes}
Depends: ${libraries(path.join(work, library)).join(', ')}, libgcc-s1, libglib2.0-0 | libglib2.0-0t64, libsecret-1-0
Recommends: gnome-keyring | org.freedesktop.secrets, xdg-utils
Section: utils
Priority: optional
Homepage: https://keyturn.example/
Description: token broker for one person's machine
 Keyturn signs in once per protected server, keeps the tokens in the keychain,
 refreshes them, and hands short-lived access tokens to the local programs that
 you allowed. You see all access in one place, and revoke it there.
 .
 This package holds the command, the broker without a window, and the Node.js
 that they run on.
`;
}

/** The Debian release of GCC that first had each symbol version of libstdc++. */
const gccOf: Readonly<Record<number, string>> = {
  28: '9',
  29: '11',
  30: '12',
  31: '13',
  32: '13.1',
  33: '14',
};

/** What the native files ask of the system's libraries, by the newest symbol versions that they name. */
function libraries(folder: string): string[] {
  const native = filesBelow(folder).filter((file) => /\.node$|\/node$/.test(file));
  const newest = (name: RegExp): number =>
    Math.max(
      ...native.flatMap((file) =>
        [...readFileSync(file).toString('latin1').matchAll(name)].map(([, minor]) => Number(minor)),
      ),
    );
  const cxx = newest(/GLIBCXX_3\.4\.(\d+)\0/g);
  const gcc = cxx < 28 ? '9' : gccOf[cxx];
  if (gcc === undefined)
    throw new Error(`No release of GCC is known for GLIBCXX_3.4.${cxx}: add it to gccOf.`);
  return [`libc6 (>= 2.${newest(/GLIBC_2\.(\d+)(?:\.\d+)?\0/g)})`, `libstdc++6 (>= ${gcc})`];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .toSorted();
}

/** For `dpkg --verify`. */
function sums(work: string): string {
  const lines = filesBelow(work)
    .map(
      (file) =>
        [path.relative(work, file), createHash('md5').update(readFileSync(file)).digest('hex')] as const,
    )
    .filter(([name]) => !name.startsWith('DEBIAN/'));
  return lines.map(([name, sum]) => `${sum}  ${name}\n`).join('');
}
