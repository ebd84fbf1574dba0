/** Which process holds a home's lock: by the kernel's list alone. */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { lockHolder } from '../../../src/daemon/home/lock-holder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let state: string;
let locks: string;
beforeEach(() => {
  folder = temporaryFolder();
  [state, locks] = [path.join(folder, 'state'), path.join(folder, 'locks')];
  mkdirSync(state);
  writeFileSync(path.join(state, 'broker.lock'), '99');
});
/** As the kernel lists them: who locks which file. */
function listed(...held: (readonly [pid: number, file: string])[]): void {
  const lines = held.map(
    ([pid, file], index) => `${index + 1}: FLOCK  ADVISORY  WRITE ${pid} fe:00:${statSync(file).ino} 0 EOF`,
  );
  writeFileSync(locks, `${lines.join('\n')}\n`);
}

it('the holder of a lock is the process that holds both the file and its folder', () => {
  const file = path.join(state, 'broker.lock');
  listed([41, folder], [42, file], [43, file], [43, state], [44, state]);
  expect(lockHolder(state, locks)).toBe(43);
});
