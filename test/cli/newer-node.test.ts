/** The command under a Node that is too old: it hands over to the one that the clone brings. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundledNode } from '../../src/cli/newer-node.ts';

const bin = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'bin.ts');

/** Runs before the command, and makes it believe that this is Node 20. The process it starts knows nothing of it. */
const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";

function withOldNode(...args: string[]) {
  const preload = `data:text/javascript,${encodeURIComponent(old)}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, bin, ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe.skipIf(bundledNode() === undefined)('a command that an old Node started', () => {
  it('runs on the Node of the clone, with its output and its exit code', () => {
    expect(withOldNode('--version')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^keyturn \d/),
      stderr: '',
    });
    const refused = withOldNode('token', 'notes');
    expect(refused).toMatchObject({ status: 2, stdout: '' });
    expect(refused.stderr).toContain('reason: invalid_resource');
  });
});
