/** The examples of the help texts and of refusals: a command must understand them as they stand. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collectOutput, type Printed } from '../../support/processes/output.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { main, statements } from '../../../src/cli/main.ts';

let printed: Printed;

/** A home whose owner key can't be read: a command that understood its arguments ends there, and starts nothing. */
const home = temporaryFolder(afterAll);
mkdirSync(path.join(home, 'config'), { mode: 0o700 });
writeFileSync(path.join(home, 'config', 'owner.key'), 'no key', { mode: 0o600 });

beforeEach(() => {
  vi.stubEnv('KEYTURN_HOME', home);
  printed = collectOutput();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** As bin.ts dispatches. */
async function keyturn([name, ...args]: string[]): Promise<number> {
  return main(name, args);
}

/** The command lines of an example, without what a shell does before and after them. */
function commandsIn(example: string): string[] {
  return [...example.matchAll(/\bkeyturn ([a-z][^|>#)\n]*)/g)].map(([, line = '']) => line.trim());
}

/** The words of a line, as a shell splits it. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, inQuotes, plain]) => inQuotes ?? plain ?? '');
}

/**
 * What an example reads from standard input, a terminal or a file, this test doesn't have. A bridge ends with its standard input, and
 * servers with an interrupt. A service would be one of the user who runs the tests, where there is systemd at all.
 */
const readsMore =
  /-stdin\b|--private-key\b|^bridge |^dev-server\b|^broker (?:run|restart)\b|^service\b|^api-key set\b/;

/** How such a command ends: at the owner’s key, at the want of a folder in memory for files, or with nothing to do. */
const ended =
  /does not hold a key|There is no place in memory|no broker runs|there is nothing to (switch|restore)/;

const all = await statements();

describe.each(all.map(({ name, examples }) => ({ name, examples })))(
  'keyturn $name --help',
  ({ name, examples }) => {
    it('shows examples that the command understands', async () => {
      await keyturn(['help', ...name.split(' ')]);
      for (const line of examples.join('\n').split('\n')) expect(printed.stdout).toContain(`\n  ${line}\n`);
      printed.stdout = '';
      const lines = examples.flatMap(commandsIn);
      expect(lines.some((line) => `${line} `.startsWith(`${name} `))).toBe(true);
      for (const line of lines.filter((each) => !readsMore.test(each))) {
        printed.stderr = '';
        // The doctor looks at the machine of the test, and may find something (9).
        expect([0, 7, ...(name === 'doctor' ? [9] : [])], line).toContain(await keyturn(words(line)));
        if (printed.stderr !== '') expect(printed.stderr, line).toMatch(ended);
      }
    });
  },
);
