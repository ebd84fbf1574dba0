/** The folder of a forward's socket: what is said where it can't be used. */
import { execFileSync } from 'node:child_process';
import { chmodSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { requireSandboxFolder } from '../../../src/cli/forward/sandbox-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

function refusal(socket: string, env: Record<string, string>): KeyturnError {
  try {
    requireSandboxFolder(socket, env);
  } catch (error) {
    if (error instanceof KeyturnError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

/** Runs the first command of a hint, and answers the path that the hint names after it. */
function followed({ hint = '' }: KeyturnError): string {
  const [, command, socket = ''] = /: (mkdir .+?)(?: {3}Then use --socket (.+))?$/.exec(hint) ?? [];
  execFileSync('sh', ['-c', command ?? 'false']);
  return socket;
}

it('says how to make a folder that does not exist, and takes it then', () => {
  const socket = path.join(temporaryFolder(), 'a b', 'box', 'agent.sock');
  const refused = refusal(socket, {});
  expect(refused).toMatchObject({ reason: 'not_found', message: expect.stringContaining('does not exist') });
  followed(refused);
  requireSandboxFolder(socket, {});
});

it.each([
  ['the runtime folder', (folder: string) => ({ XDG_RUNTIME_DIR: folder, HOME: '/elsewhere' })],
  ['the home', (folder: string) => ({ HOME: folder })],
])('proposes a new folder below %s where others may enter the named one', (_, envIn) => {
  const shared = temporaryFolder();
  chmodSync(shared, 0o1777);
  const env = envIn(temporaryFolder());
  const refused = refusal(path.join(shared, 'agent.sock'), env);
  expect(refused).toMatchObject({
    reason: 'socket_unsafe',
    message: expect.stringContaining('has mode 1777'),
  });
  expect(refused.hint).not.toContain('chmod');
  const proposed = followed(refused);
  requireSandboxFolder(proposed, env);
  expect(statSync(shared).mode & 0o7777).toBe(0o1777);

  // The proposed one is not as it must be either: the next proposal is another folder.
  chmodSync(path.dirname(proposed), 0o755);
  const next = followed(refusal(proposed, env));
  expect(path.dirname(next)).not.toBe(path.dirname(proposed));
  requireSandboxFolder(next, env);
});
