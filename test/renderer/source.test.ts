/** What holds for every source file of the page, and for the page as it is built. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..', '..');
const folder = path.join(root, 'renderer');

const sources: [string, string][] = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll(path.sep, '/'))
  .filter((name) => /\.tsx?$/.test(name) && name !== 'vite.config.ts')
  .map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]);

/** Attributes that people read or hear. */
const spoken = new Set(['aria-label', 'title', 'alt', 'placeholder', 'label', 'hint', 'lead', 'text']);

interface Found {
  readonly imports: { readonly from: string; readonly isType: boolean }[];
  readonly names: Set<string>;
  /** Words for people that stand in the file itself. */
  readonly words: string[];
}

function read(name: string, text: string): Found {
  const found: Found = { imports: [], names: new Set(), words: [] };
  const { program, errors } = parseSync(name, text);
  if (errors.length > 0) throw new Error(`${name} is not read`);
  const word = (value: unknown): void => {
    if (typeof value === 'string' && /\p{L}/u.test(value)) found.words.push(value.trim());
  };
  new Visitor({
    ImportDeclaration: ({ source, importKind }) =>
      void found.imports.push({ from: source.value, isType: importKind === 'type' }),
    ImportExpression: () => void found.imports.push({ from: 'chosen at run time', isType: false }),
    Identifier: ({ name: identifier }) => void found.names.add(identifier),
    JSXIdentifier: ({ name: identifier }) => void found.names.add(identifier),
    JSXText: ({ value }) => word(value),
    JSXAttribute: ({ name: attribute, value }) => {
      if (attribute.type !== 'JSXIdentifier' || !spoken.has(attribute.name)) return;
      if (value?.type === 'Literal') word(value.value);
    },
    JSXExpressionContainer: ({ expression }) => {
      if (
        expression.type === 'Literal' &&
        typeof expression.value === 'string' &&
        /\p{L} \p{L}/u.test(expression.value)
      ) {
        word(expression.value);
      }
    },
  }).visit(program);
  return found;
}

describe.each(sources)('renderer/%s', (name, text) => {
  const { imports, names, words } = read(name, text);

  it('opens with a header and leaves nothing to be done later', () => {
    expect(text).toMatch(/^\/\*\*\s/);
    expect(text).not.toMatch(/\b(TODO|FIXME|XXX|HACK)\b/);
  });

  it('imports its own files, the catalogues of words, preact, and of the app only the types of its channels', () => {
    const others = imports
      .map(({ from, isType }) => ({
        from: from.startsWith('.') ? path.posix.join(path.posix.dirname(`renderer/${name}`), from) : from,
        isType,
      }))
      .filter(({ from }) => !/^(renderer|words)\/[\w./-]+$/.test(from) && !/^preact(\/hooks)?$/.test(from))
      .filter(({ from, isType }) => !(from === 'electron/bridge/channels.ts' && isType));
    expect(others).toEqual([]);
  });

  it('makes no markup from text and runs no text', () => {
    const doors = [
      'dangerouslySetInnerHTML',
      'innerHTML',
      'outerHTML',
      'insertAdjacentHTML',
      'eval',
      'Function',
      'DOMParser',
      'srcdoc',
    ];
    expect(doors.filter((door) => names.has(door))).toEqual([]);
  });

  it('keeps its words in the catalogues', () => {
    expect(words).toEqual([]);
  });
});

describe('the page and the windows it is shown in', () => {
  it('have the same ground, so that nothing flashes before the page is drawn', () => {
    const grounds = /--ground: (#[0-9a-f]{6})/g;
    const style = readFileSync(path.join(folder, 'style', 'colours.css'), 'utf8');
    const [light, dark] = [...style.matchAll(grounds)].map(([, colour]) => colour);
    const windows = readFileSync(path.join(root, 'electron', 'windows', 'windows.ts'), 'utf8');
    expect(windows).toContain(`background = { light: '${light}', dark: '${dark}' }`);
  });
});

describe('the built page', () => {
  const built = path.join(root, 'dist', 'renderer');
  const html = readFileSync(path.join(built, 'index.html'), 'utf8');

  it('has nothing inline, and only relative addresses', () => {
    expect(html).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/i);
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBe(2);
    expect(addresses.filter((address) => !address.startsWith('./'))).toEqual([]);
  });

  it('brings no schema library, no maps and no other file along', () => {
    const files = readdirSync(path.join(built, 'assets'));
    expect(files.map((file) => path.extname(file)).toSorted()).toEqual(['.css', '.js']);
    const script = files.find((file) => file.endsWith('.js')) ?? '';
    const code = readFileSync(path.join(built, 'assets', script), 'utf8');
    expect(code).not.toMatch(/zod|sourceMappingURL|https?:\/\/(?!www\.w3\.org|notes\.example)/i);
    // The words are a third of it. The main process and its schemas would be ten times as much.
    expect(code.length).toBeLessThan(300_000);
  });
});
