/** The entries of docs/guides/connect-clients.md and README can be pasted, and its table has every client that setup knows. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { statements } from '../../src/cli/main.ts';
import { parse } from '../../src/cli/terminal/arguments.ts';
import { codeBlocks, page } from './pages.ts';

const here = page('docs/guides/connect-clients.md');
const all = await statements();

/** The name of the entry in what the command line says; throws where the CLI would refuse it. */
function entryIn([program, name, ...words]: readonly string[]): unknown {
  expect(program).toBe('keyturn');
  const statement = all.find((one) => one.name === name);
  if (!statement) throw new Error(`there is no keyturn ${name}`);
  const { options, operands } = parse([...words], statement);
  expect(operands).toEqual(['https://notes.example/mcp']);
  return options['as'];
}

const words = z.array(z.string());

/** Every command line in a value: a command and its arguments. */
function commandLines(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const { command, cmd, args } = { ...value } as Record<string, unknown>;
  const program = command ?? cmd;
  if (typeof program === 'string') return [[program, ...words.parse(args)]];
  return Object.values(value).flatMap(commandLines);
}

/** `key: value` of YAML, in the part that JSON shares; bare words are texts. */
function fieldsOf(text: string): Record<string, unknown> {
  const fields = [...text.matchAll(/^ {4}(\w+): (.+)$/gm)].map(([, key = '', value = '']) => {
    return [key, /^["[\d]/.test(value) ? (JSON.parse(value) as unknown) : value] as const;
  });
  return Object.fromEntries(fields);
}

/** A command of a program that writes the entry itself: what it passes on begins at `keyturn`. */
function addedBy(line: string): string[][] {
  const typed = line.split(/\s+/).filter((word) => word !== '--');
  return typed.includes('keyturn') ? [typed.slice(typed.indexOf('keyturn'))] : [];
}

describe('docs/guides/connect-clients.md', () => {
  it('shows entries that parse, and that the CLI takes', () => {
    const lines = [
      ...codeBlocks(here, 'json').flatMap((text) => commandLines(JSON.parse(text))),
      ...codeBlocks(here, 'yaml').flatMap((text) => commandLines(fieldsOf(text))),
      ...codeBlocks(here, 'sh').flatMap((text) => text.split('\n').flatMap(addedBy)),
    ];
    expect(lines.map(([, command]) => command)).toEqual([
      'bridge',
      'bridge',
      'connect',
      ...Array<string>(3).fill('bridge'),
    ]);
    for (const line of lines) expect(entryIn(line)).toMatch(/^[\w.-]{1,64}$/);
  });
});
