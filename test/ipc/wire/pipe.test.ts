/** The named pipe of a home on Windows: its names. */
import { expect, it } from 'vitest';
import { pipeId, pipeName } from '../../../src/ipc/wire/pipe.ts';

const run = 'C:\\Users\\Alice\\AppData\\Local\\Keyturn\\run';

it('names the pipe of a home as docs/reference/wire-protocol.md does', () => {
  const pipe = pipeName(run, 'Alice');
  expect(pipe).toBe('\\\\.\\pipe\\keyturn-e90e39e07bb7ccc918655b4c85c199bd');
  expect(pipeId(pipe)).toBe('pipe:keyturn-e90e39e07bb7ccc918655b4c85c199bd');
});

it('finds the same pipe however the path of a folder is written, as Windows does', () => {
  expect(pipeName('c:/users/ALICE/AppData/Local/Keyturn/run', 'alice')).toBe(pipeName(run, 'Alice'));
});

it('gives another home, and another user, another pipe', () => {
  const names = [pipeName(run, 'alice'), pipeName(`${run}2`, 'alice'), pipeName(run, 'bob')];
  expect(new Set(names).size).toBe(3);
});
