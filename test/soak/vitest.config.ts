/** How the long runs go: one after another, since each uses the whole machine. Not part of `npm test`. */
import path from 'node:path';
import { defineConfig } from 'vitest/config';

/** Milliseconds: hours, because only a hang may end a run before its end. */
const patience = 6 * 60 * 60_000;

export default defineConfig({
  test: {
    root: path.join(import.meta.dirname, '..', '..'),
    include: ['test/soak/**/*.soak.ts'],
    environment: 'node',
    pool: 'forks',
    fileParallelism: false,
    testTimeout: patience,
    hookTimeout: patience,
    watch: false,
    reporters: ['default'],
  },
});
