/** The entries of docs/guides/connect-clients.md and README can be pasted, and its table has every client that setup knows. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { statements } from '../../src/cli/main.ts';
import { parse } from '../../src/cli/terminal/arguments.ts';
import { configFiles } from '../../src/setup/clients.ts';
import { codeBlocks, page, section, tableRows } from './pages.ts';

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

  it('has the files and the key of every client that setup knows', () => {
    const rows = tableRows(section(here, 'Clients')).slice(2);
    const documented = rows.map(([title, user = '', project = '', key]) => {
      const names = [...`${user} ${project}`.matchAll(/`([^`]+)`/g)].map(([, name = '']) =>
        path.basename(name),
      );
      return { title, names: names.filter((name) => !name.endsWith('.jsonc')), key };
    });
    const known = configFiles({ home: '/person', project: '/project', env: {}, platform: 'linux' });
    const stated = [...new Set(known.map(({ title }) => title))].map((title) => {
      const files = known.filter((one) => one.title === title);
      const names = files.map(({ file }) => path.basename(file)).filter((name) => !name.endsWith('.jsonc'));
      return { title, names, key: `\`${files[0]?.keyPaths[0]?.join('.')}\`` };
    });
    expect(documented).toEqual(stated);
  });
});

it('README shows the change that the guide shows', () => {
  const [shown = ''] = codeBlocks(here, 'console');
  expect(shown).toContain('keyturn setup\n');
  expect(page('README.md').text).toContain(shown);
});
