import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

const prompt = path.join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'src',
  'cli',
  'terminal',
  'passphrase-prompt.ts',
);

it('keeps every character of a passphrase, a byte order mark too', () => {
  const script = `
    const { linesFromStdin } = await import(${JSON.stringify(pathToFileURL(prompt).href)});
    const [line] = await linesFromStdin(1);
    console.log(line.length);
  `;
  const input = '\uFEFFcorrect horse\n';
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    input,
    encoding: 'utf8',
  });
  expect(Number(stdout)).toBe(input.length - 1);
});
