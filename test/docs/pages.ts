/** The repository's pages as the tests read them: text, tables, code blocks, links. A new page is checked too. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');

export interface MarkdownPage {
  /** From the root, with slashes. */
  readonly name: string;
  readonly text: string;
}

/** Every Markdown page of the repository's own, in the root, in docs/ and in dev/. */
export function pages(): MarkdownPage[] {
  const top = readdirSync(root).filter((file) => file.endsWith('.md'));
  const below = ['docs', 'dev', 'src/client', 'src/server'].flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => path.posix.join(folder, file.replaceAll(path.sep, '/'))),
  );
  return [...top, ...below].map(page);
}

export function page(name: string): MarkdownPage {
  return { name, text: readFileSync(path.join(root, name), 'utf8') };
}

/** The insides of the fenced blocks in this language, in order. */
export function codeBlocks({ text }: MarkdownPage, language: string): string[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .filter(([, named]) => named === language)
    .map(([, , code = '']) => code);
}

/** A page without its fenced blocks. */
export function prose({ text }: MarkdownPage): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

/** Rows of a text's tables, their cells trimmed; header and rule lines too. `\|` is a bar within a cell. */
export function tableRows(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll(String.raw`\|`, '|')),
    );
}

/** The text of `## title`, up to the next heading of that level. */
export function section({ text, name }: MarkdownPage, title: string): string {
  const parts = text.split(/^## /m);
  const found = parts.find((part) => part.startsWith(`${title}\n`));
  if (found === undefined) throw new Error(`${name} has no section "${title}"`);
  return found;
}

/** What a page calls its headings in links. */
export function anchors({ text }: MarkdownPage): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
