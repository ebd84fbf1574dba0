/** Outputs that can't be written: a reader that is gone, and a full disk. Real processes, since Node's streams decide. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const bin = path.join(import.meta.dirname, '..', '..', 'src', 'cli', 'bin.ts');

let home: string;
beforeAll(() => {
  home = mkdtempSync(path.join(tmpdir(), 'kt-'));
});
afterAll(() => rmSync(home, { recursive: true }));

const keyturn = `'${process.execPath}' '${bin}'`;

/** Runs a line of bash. In it `late` runs a command once `leave`, the reader at the end of its pipe, is gone. */
function bash(line: string): { status: number | null; stdout: string; stderr: string } {
  const script = `late() { until [ -e "$0" ]; do sleep 0.02; done; ${keyturn} "$@"; }
leave() { exec <&-; touch "$0"; }
${line}`;
  const mark = path.join(mkdtempSync(path.join(home, 'reader-')), 'gone');
  return spawnSync('bash', ['--norc', '-c', script, mark], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: home, KEYTURN_HOME: path.join(home, 'home') },
  });
}

it.each([
  ['an answer', 'late --help | leave', '0\n'],
  ['a completion script', 'late completion bash | leave', '0\n'],
  ['a refusal', 'late token notes 2>&1 >/dev/null | leave', '2\n'],
])(
  'a reader that is gone lets a command with %s end silently, with its usual code',
  (_what, line, expected) => {
    expect(bash(`${line}; echo "\${PIPESTATUS[0]}"`)).toMatchObject({ stdout: expected, stderr: '' });
  },
);

describe('a full disk', () => {
  it('a full disk under the answer is told by its reason, and is no success', () => {
    const { status: code, stderr } = bash(`${keyturn} --help >/dev/full`);
    expect(stderr).toContain("Standard output can't be written (ENOSPC)");
    expect(stderr).toContain('reason: file_unreadable');
    expect(stderr.match(/reason:/g)).toHaveLength(1);
    expect(code).toBe(7);
  });

  it('a full disk under the refusals changes no exit code', () => {
    expect(bash(`${keyturn} token notes 2>/dev/full`).status).toBe(2);
  });
});
