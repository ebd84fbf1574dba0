/** How Stryker runs the test files that MUTATE_TESTS names: as `npm test` does, without what those runs build first. */
import process from 'node:process';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: (process.env.MUTATE_TESTS ?? '').split('\n'),
    environment: 'node',
    pool: 'forks',
    setupFiles: 'test/support/new-file.ts',
    experimental: { viteModuleRunner: false, nodeLoader: false },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    watch: false,
  },
});
