/**
 * How the windows' page is built: into dist/renderer, with relative addresses, for the engine that
 * Electron brings along.
 *
 * Invariant: nothing is inlined, neither script nor style nor picture: the page's Content-Security-Policy
 * allows files of its own origin and nothing else.
 */
import path from 'node:path';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // Preact's own JSX, by the compiler that vite brings.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: path.join(import.meta.dirname, '..', 'dist', 'renderer'),
    emptyOutDir: true,
    target: 'chrome140',
    assetsInlineLimit: 0,
    // The one chunk is loaded from the disk; the shim for older engines would be a script more.
    modulePreload: false,
    sourcemap: false,
  },
});
