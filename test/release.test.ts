/** What `npm run release` refuses. test/soak/release.soak.ts builds a whole release. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
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
