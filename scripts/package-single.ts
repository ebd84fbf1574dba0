/**
 * `npm run package:single [-- --output FOLDER]`: the program as one executable file for this system (Linux), its
 * checksum and its bill of materials, into release/. Needs no network.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { nodePackage, root } from './packaging/program.ts';
import { buildSingle } from './packaging/single.ts';

const { values } = parseArgs({
  options: { output: { type: 'string', default: path.join(root, 'release') } },
});
const output = path.resolve(values.output);

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** That of `npm run sbom`, with the Node that is in the executable. */
function writeBill(file: string): void {
  execFileSync(process.execPath, [path.join(root, 'scripts', 'sbom.mjs'), file], { cwd: root });
  const bill = JSON.parse(readFileSync(file, 'utf8')) as { components: unknown[] };
  const node = JSON.parse(readFileSync(path.join(nodePackage, 'package.json'), 'utf8')) as {
    version: string;
  };
  const content = sha256(path.join(nodePackage, 'bin', 'node'));
  bill.components.push({
    type: 'application',
    'bom-ref': `node@${node.version}`,
    name: 'node',
    version: node.version,
    purl: `pkg:generic/node@${node.version}`,
    hashes: [{ alg: 'SHA-256', content }],
    licenses: [{ license: { id: 'MIT' } }],
  });
  writeFileSync(file, `${JSON.stringify(bill, undefined, 2)}\n`);
}

const work = mkdtempSync(path.join(tmpdir(), 'keyturn-single-'));
try {
  const file = await buildSingle(work, output);
  writeBill(`${file}.cdx.json`);
  const lines = [file, `${file}.cdx.json`].map((one) => `${sha256(one)}  ${path.basename(one)}\n`);
  writeFileSync(`${file}.sha256`, lines.join(''));
  process.stdout.write(`${file}\n`);
} finally {
  rmSync(work, { recursive: true, force: true });
}
