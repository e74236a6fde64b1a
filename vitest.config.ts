import { defineConfig } from 'vitest/config';

/** `npm run test:deep` is `--mode deep`: what takes too long for each change. */
export default defineConfig(({ mode }) => ({
  test: {
    include: [mode === 'deep' ? 'test/**/*.deep.ts' : 'test/**/*.test.ts'],
    globalSetup: ['test/setup/global-setup.ts'],
    // A machine that does something else as well is slow: these only end what would never end.
    testTimeout: 240_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    maxWorkers: 2,
    maxConcurrency: 6,
  },
}));
