/**
 * The reference pages that state what the program states. cli.md is made of the commands' statements; in the tables of reasons
 * and settings, the words are the page's and all other cells are the program's.
 *
 * Invariant: each name of the program has a row, in the program's order; a name without words is an error.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { topics } from '../../src/cli/main.ts';
import { reasons } from '../../src/base/errors.ts';
import { settingNames } from '../../src/daemon/settings/setting-choices.ts';
import {
  defaultSettings,
  appliesImmediately,
  trustRequired,
  variables,
  type Settings,
} from '../../src/daemon/settings/settings.ts';
import { commandPage } from './command-page.ts';
import { root } from './program.ts';

const folder = 'docs/reference';

/** Each page's name in the repository, and what it has to say. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    [`${folder}/cli.md`]: commandPage(await topics()),
    [`${folder}/errors.md`]: withTable('errors.md', reasonRows()),
    [`${folder}/settings.md`]: withTable('settings.md', settingRows()),
  };
}

/** A row's cells by name; what follows them are words of the page. */
type Rows = readonly (readonly [name: string, ...stated: string[]])[];

function reasonRows(): Rows {
  return Object.entries(reasons).map(([reason, { code, exit }]) => [reason, String(code), String(exit)]);
}

function settingRows(): Rows {
  const defaults: Partial<Settings> = defaultSettings;
  return settingNames.map((name) => [
    name,
    variables[name]?.map(code).join(', ') || '–',
    defaults[name] === undefined ? '–' : code(String(defaults[name])),
    appliesImmediately.has(name) ? 'at once' : 'at the next start',
    trustRequired(name) === 'approved' ? 'yes' : 'no',
  ]);
}

const code = (text: string): string => `\`${text}\``;

/** The page, with the cells of the rows in its first table. */
function withTable(file: string, rows: Rows): string {
  const text = readFileSync(path.join(root, folder, file), 'utf8');
  const [table = ''] = /^\|(?:.*\n\|)+.*$/m.exec(text) ?? [];
  const [heads = '', rule = '', ...written] = table.split('\n');
  const lines = rows.map(([name, ...stated]) => {
    const row = written.find((line) => line.startsWith(`| ${code(name)} |`));
    const words = row?.split(' | ').slice(stated.length + 1) ?? [];
    if (words.length === 0)
      throw new Error(`${file} has no words for ${name}: add a row with dashes for the rest`);
    return `| ${[code(name), ...stated, ...words].join(' | ')}`;
  });
  return text.replace(table, () => [heads, rule, ...lines].join('\n'));
}
