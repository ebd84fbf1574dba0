/** The entries of docs/guides/clients.md and README can be pasted: each parses, and starts a command line that the CLI takes. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { statements } from '../../src/cli/main.ts';
import { parse } from '../../src/cli/terminal/arguments.ts';
import { codeBlocks, page, section } from './pages.ts';

const here = page('docs/guides/clients.md');
const programs = [...here.text.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title);
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

/** Every command line in a value, whether it stands in one list, or as a command and its arguments. */
function commandLines(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const { command, cmd, args, headersHelper } = { ...value } as Record<string, unknown>;
  const program = command ?? cmd;
  if (Array.isArray(program)) return [words.parse(program)];
  if (typeof program === 'string') return [[program, ...words.parse(args)]];
  if (typeof headersHelper === 'string') return [headersHelper.split(' ')];
  return Object.values(value).flatMap(commandLines);
}

/** `key = value` of TOML and `key: value` of YAML, in the part of both that JSON shares; bare words are texts. */
function fieldsOf(text: string, line: RegExp): Record<string, unknown> {
  const fields = [...text.matchAll(line)].map(([, key = '', value = '']) => {
    return [key, /^["[\d]/.test(value) ? (JSON.parse(value) as unknown) : value] as const;
  });
  return Object.fromEntries(fields);
}

/** A command of a program that writes the entry itself: what it passes on begins at `keyturn`. */
function addedBy(line: string): string[][] {
  const typed = line.split(/\s+/).filter((word) => word !== '--');
  return typed.includes('keyturn') ? [typed.slice(typed.indexOf('keyturn'))] : [];
}

function linesOf(title: string): string[][] {
  const part = { name: here.name, text: section(here, title) };
  return [
    ...codeBlocks(part, 'json').flatMap((text) => commandLines(JSON.parse(text))),
    ...codeBlocks(part, 'toml').flatMap((text) => commandLines(fieldsOf(text, /^(\w+) = (.+)$/gm))),
    ...codeBlocks(part, 'yaml').flatMap((text) => commandLines(fieldsOf(text, /^ {4}(\w+): (.+)$/gm))),
    ...codeBlocks(part, 'sh').flatMap((text) => text.split('\n').flatMap(addedBy)),
  ];
}

describe('docs/guides/clients.md', () => {
  it('has entries for eleven programs', () => {
    expect(programs).toHaveLength(11);
  });

  it.each(programs)('shows for %s entries that parse, with one name that the CLI takes', (title) => {
    const lines = linesOf(title);
    expect(lines.length).toBeGreaterThan(0);
    const bridges = lines.filter(([, name]) => name === 'bridge').map(entryIn);
    expect(bridges.length).toBeGreaterThan(0);
    expect(new Set(bridges).size).toBe(1);
    expect(bridges[0]).toMatch(/^[\w.-]{1,64}$/);
    for (const line of lines.filter(([, name]) => name !== 'bridge')) entryIn(line);
  });

  it('gives each program a name of its own', () => {
    const names = programs.map((title) =>
      entryIn(linesOf(title).find(([, name]) => name === 'bridge') ?? []),
    );
    expect(new Set(names).size).toBe(names.length);
  });
});

it('README shows the one line to change, and the CLI takes it', () => {
  const [diff = ''] = codeBlocks(page('README.md'), 'diff');
  const [before, after] = ['-', '+'].map((sign) => {
    const line = diff.split('\n').find((each) => each.startsWith(sign)) ?? '';
    return JSON.parse(`{${line.slice(1)}}`) as unknown;
  });
  expect(before).toEqual({ notes: { url: 'https://notes.example/mcp' } });
  expect(commandLines(after).map(entryIn)).toEqual(['my-editor']);
});
