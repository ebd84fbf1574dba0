/** The file of a project that names accounts: what can't be used is refused whole. Commands in such folders: test/e2e/programs/accounts.test.ts. */
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { KeyturnError } from '../../../src/base/errors.ts';
import { accountFor } from '../../../src/cli/project/project-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const resource = 'https://notes.example/mcp';
const good = `[accounts]\n"${resource}" = "work"\n`;

function project(text: string): string {
  const file = path.join(temporaryFolder(), '.keyturn.toml');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** What a command prints of it: the message and the hint. */
function refuses(file: string, words: string): void {
  let refusal: unknown;
  try {
    accountFor(file, resource);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(KeyturnError);
  const { reason, message, hint } = refusal as KeyturnError;
  expect(reason).toBe('file_unreadable');
  expect(`${message}\n${hint ?? ''}`).toContain(words);
}

it('a project file that can be used names the account', () => {
  expect(accountFor(project(good), resource)).toBe('work');
});

it.each([
  ['an unknown table', '[accounts]\n[issuers]\n', 'line 2: "issuers" is nothing that Keyturn knows'],
  ['an unknown key', 'command = "x"\n', 'line 1: "command" is nothing that Keyturn knows'],
  ['a name that is no address', '[accounts]\n\nnotes = "work"\n', 'line 3: "notes" is nothing'],
  ['an account that is no text', '[accounts]\n"https://a.example/" = 7\n', 'line 2: the account is a text'],
  [
    'one server twice',
    '[accounts]\n"https://a.example" = "a"\n"https://a.example/" = "b"\n',
    'line 3: "https://a.example/" is named twice',
  ],
  ['text that is no TOML', '[accounts]\n"https://a.example/" = \n', 'line 2: this is no TOML'],
  // Attack: a file that exhausts the stack of its reader.
  [
    'lists within lists',
    `[accounts]\n"https://a.example/" = ${'['.repeat(16_000)}`,
    'line 2: this is no TOML',
  ],
  [
    'a key of thousands of names',
    `[accounts]\n"https://a.example/" = {${'a.'.repeat(7900)}a = 1}`,
    'line 2: this is no TOML',
  ],
  // Attack: lines of their own in what a terminal shows.
  [
    'an account of several lines',
    '[accounts]\n"https://a.example/" = "work\\nkeyturn: ok"\n',
    'line 2: the account is a text of 1 to 256 characters on one line',
  ],
  ['too much text', `#${'x'.repeat(17_000)}\n`, 'it has more than 16384 bytes'],
])('a project file with %s is refused', (_what, text, words) => {
  refuses(project(text), words);
});

it('a project file that is a symbolic link or a folder, or that others can write, is refused', () => {
  const file = project(good);
  chmodSync(file, 0o620);
  refuses(file, 'chmod go-w');
  renameSync(file, `${file}.real`);
  symlinkSync(`${file}.real`, file);
  refuses(file, 'it is a symbolic link');
  rmSync(file);
  mkdirSync(file);
  refuses(file, 'it is no plain file');
});

it.skipIf(process.getuid?.() !== 0)(
  'a project file that belongs to another user is refused (only root can give a file away)',
  () => {
    const file = project(good);
    chownSync(file, 65_534, 65_534);
    refuses(file, 'it belongs to user 65534, not to you');
    const linked = path.join(temporaryFolder(), '.keyturn.toml');
    linkSync(file, linked);
    refuses(linked, 'it belongs to user 65534, not to you');
  },
);
