/** What `npm run release` refuses, and its notes. test/soak/release.soak.ts builds a whole release. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { releaseNotes } from '../scripts/packaging/notes.ts';
import { page } from './docs/pages.ts';
import { cloned } from './support/processes/released.ts';

it('a release is refused without its tag, and from a checkout with changes', () => {
  const clone = cloned();
  const { version } = JSON.parse(readFileSync(path.join(clone.folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(clone.release()).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`lacks the tag v${version}`),
  });
  clone.git('tag', `v${version}`);
  writeFileSync(path.join(clone.folder, 'README.md'), 'changed');
  expect(clone.release()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the checkout has changes'),
  });
});

it('the notes of a release say what is new and what was run where', () => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\nlater\n\n## 0.2.0\n\nIt does more.\n\n## 0.1.0\n\nfirst\n';
  const notes = releaseNotes('0.2.0', changelog, page('docs/install.md').text);
  expect(notes).toMatch(/^# Keyturn 0\.2\.0\n\nIt does more\.\n\n## What was run where\n\n\| system \|/);
  expect(notes).toMatch(/\| macOS \|.*never run.*\n.*\| Windows \||\| Windows \|/);
  expect(notes).not.toMatch(/later|first\n/);
  expect(() => releaseNotes('9.9.9', changelog, page('docs/install.md').text)).toThrow('9.9.9');
});
