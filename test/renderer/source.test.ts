/** What holds for every source file of the page, and for the page as it is built. */
import { readFileSync } from 'node:fs';
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
});
