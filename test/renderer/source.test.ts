/** What holds for every source file of the page, and for the page as it is built. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.join(import.meta.dirname, '..', '..');
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
