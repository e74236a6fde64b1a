import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { defineConfig } from 'vitest/config';
import { deepFiles } from './test/setup/deep-files.ts';

/** Their files start no worker and leave nothing behind: they share a process, and what it has loaded. */
const LIGHT = 'test/{credentials,definitions,docs,flows,layout,models,net,plugins,protocol}/**';

/** `npm run test:deep` is `--mode deep`: what takes too long for each change. */
export default defineConfig(({ mode }) => {
  const files =
    mode === 'deep'
      ? Object.values(deepFiles()).flat()
      : globSync('test/**/*.test.ts', { cwd: import.meta.dirname });
  const isLight = (file: string) => matchesGlob(file, LIGHT);
  return {
    test: {
      env: { HOLDFAST_TEST_TIER: mode },
      globalSetup: ['test/setup/global-setup.ts'],
      // A machine that does something else as well is slow: these only end what would never end.
      testTimeout: 240_000,
      hookTimeout: 600_000,
      expect: { poll: { timeout: 120_000 } },
      reporters: ['default', './test/setup/run-reporter.ts'],
      pool: 'forks',
      maxWorkers: 3,
      maxConcurrency: 6,
      // Node loads the sources as it does for users. Vite would transform a thousand modules, and hand them to each file.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      projects: [
        { extends: true, test: { name: 'light', include: files.filter(isLight), isolate: false } },
        { extends: true, test: { name: 'whole', include: files.filter((file) => !isLight(file)) } },
      ],
    },
  };
});
