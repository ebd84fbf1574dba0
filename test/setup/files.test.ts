/** Replacing files of other programs: whole, only as they were read, and where a link leads. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readConfig, replaceConfig } from '../../src/setup/files.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('a configuration is replaced behind its link, with its mode, and no draft is left', async () => {
  const folder = temporaryFolder();
  const real = path.join(folder, 'real.json');
  writeFileSync(real, '{}');
  chmodSync(real, 0o640);
  const link = path.join(folder, 'link.json');
  symlinkSync(real, link);
  const found = await readConfig(link);
  expect(found && (await replaceConfig(found, Buffer.from('{"a":1}')))).toBe(true);
  expect(readFileSync(real, 'utf8')).toBe('{"a":1}');
  expect(statSync(real).mode & 0o777).toBe(0o640);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readdirSync(folder).toSorted()).toEqual(['link.json', 'real.json']);
});

it('a pipe in the place of a configuration is refused, and is not waited for', async () => {
  const file = path.join(temporaryFolder(), 'mcp.json');
  execFileSync('mkfifo', [file]);
  await expect(readConfig(file)).rejects.toThrow('it is no regular file');
});

it('a configuration that its client rewrote meanwhile stays', async () => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, '{}');
  const found = await readConfig(file);
  writeFileSync(file, '{"newer":true}');
  expect(found && (await replaceConfig(found, Buffer.from('{"a":1}')))).toBe(false);
  expect(readFileSync(file, 'utf8')).toBe('{"newer":true}');
  expect(readdirSync(folder)).toEqual(['mcp.json']);
});

it.each(['mcp.json', 'folder/mcp.json'])(
  'is read at %s only if no link leads out of the project',
  async (name) => {
    const [project, other] = [temporaryFolder(), temporaryFolder()];
    writeFileSync(path.join(other, 'mcp.json'), '{}');
    writeFileSync(path.join(project, 'real.json'), '{}');
    symlinkSync(path.join(other, path.basename(name)), path.join(project, 'mcp.json'));
    symlinkSync(other, path.join(project, 'folder'));
    symlinkSync('real.json', path.join(project, 'link.json'));
    await expect(readConfig(path.join(project, name), project)).rejects.toThrow('it leads out of its folder');
    expect(await readConfig(path.join(project, 'link.json'), project)).toBeDefined();
    expect(await readConfig(path.join(project, name))).toBeDefined();
  },
);

it('a configuration of a project is read only if it is short', async () => {
  const project = temporaryFolder();
  const file = path.join(project, 'mcp.json');
  writeFileSync(file, `{}${' '.repeat(64 * 1024)}`);
  await expect(readConfig(file, project)).rejects.toThrow('it is larger than 64 KiB');
  expect(await readConfig(file)).toBeDefined();
});
