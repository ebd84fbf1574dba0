/** The demo, as `npm run demo -- --yes` runs it: real servers, a real daemon, every count as stated. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..', '..');

describe('npm run demo', () => {
  test('plays the whole main job and finds every count as stated', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [path.join(root, 'scripts', 'demo.ts'), '--yes'],
      {
        cwd: root,
        encoding: 'utf8',
        input: '',
      },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('All as stated.');
    expect(stdout).not.toContain('WRONG');
  }, 60_000);
});
