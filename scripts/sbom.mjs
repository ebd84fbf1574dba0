// Writes the bill of materials of what runs at a user's: CycloneDX JSON, made by npm itself from the
// lock file, without a network. To the file that is named, else to standard output.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const { workspaces } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8'));

// Not `--omit dev`: npm then also leaves out what a development tool has as a peer, such as zod.
const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--offline'];
const bill = JSON.parse(
  execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  }),
);

// The bill is of the program; npm names the workspace.
bill.metadata.component.name = 'keyturn';

/** The workspace brings Node for development, and is not published. */
const unpublished = workspaces
  .filter((folder) => folder.startsWith('test/'))
  .flatMap((folder) => Object.keys(lock.packages[folder].optionalDependencies));
const names = new Set(workspaces.map((folder) => lock.packages[folder].name));
const isOurs = (ref) =>
  ref === bill.metadata.component['bom-ref'] || names.has(ref.slice(0, ref.lastIndexOf('@')));
const published = new Set([bill.metadata.component['bom-ref']]);
for (const [where, entry] of Object.entries(lock.packages)) {
  const own = where.split('node_modules/').at(-1);
  if (!where.startsWith('node_modules/') || entry.link || entry.dev || entry.devOptional) continue;
  if (!unpublished.includes(own)) published.add(`${own}@${entry.version}`);
}
bill.components = bill.components.filter((component) => published.has(component['bom-ref']));
// What a workspace of ours needs, the whole needs.
const [whole] = bill.dependencies;
whole.dependsOn = [
  ...new Set(bill.dependencies.filter(({ ref }) => isOurs(ref)).flatMap(({ dependsOn }) => dependsOn)),
];
bill.dependencies = bill.dependencies
  .filter(({ ref }) => published.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => published.has(one)) }));

const text = `${JSON.stringify(bill, undefined, 2)}\n`;
const [file] = process.argv.slice(2);
if (file === undefined) process.stdout.write(text);
else writeFileSync(path.resolve(file), text);
