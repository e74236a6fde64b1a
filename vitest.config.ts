import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { defineConfig } from 'vitest/config';
import { deepFiles } from './test/setup/deep-files.ts';

/** Their files start no worker. */
const LIGHT =
  'test/{cli,credentials,definitions,docs,flows,layout,models,net,plugins,protocol,store,testing,workspace}/**';
/** Their files start a worker that is like a user's, or change what belongs to the whole process. */
const ALONE = [
  'test/{adk,deploy,examples,package,soak,worker}/**',
  'test/cli/{empty-variables,init,sessions}.test.ts',
  'test/{runner/jobs,tree/replays,turn/wrong-clock}.{test,deep}.ts',
  'test/store/{embedded,embedded-kill,full-disk,next-release,template}.{test,deep}.ts',
  'test/testing/{environment,escalated-requests}.{test,deep}.ts',
];

/** Promises that hold however steps and calls run: `npm run test:deep` asks for them in each way. */
const IN_EACH_STEP_MODE = [
  'test/client/steering.test.ts',
  'test/telemetry/{telemetry,tracing}.test.ts',
  'test/turn/{budgets,callbacks,crash,cut-off,ends,kills,message-edges,messages,plugins,sensitive,store-outages,superseded,upgrades}.test.ts',
  'test/turn/{gate-crashes,gated-calls,gates-*,tool-callbacks}.test.ts',
];

/** `npm run test:deep` is `--mode deep`: what takes too long for each change. */
export default defineConfig(({ mode }) => {
  const files =
    mode === 'deep'
      ? Object.values(deepFiles()).flat()
      : globSync('test/**/*.test.ts', { cwd: import.meta.dirname });
  const filesOf = (...globs: string[]) =>
    files.filter((file) => globs.some((glob) => matchesGlob(file, glob)));
  const alone = filesOf(...ALONE);
  const light = filesOf(LIGHT).filter((file) => !alone.includes(file));
  const shared = files.filter((file) => !light.includes(file) && !alone.includes(file));
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
      maxWorkers: 4,
      maxConcurrency: 6,
      // Node loads the sources as it does for users. Vite would transform a thousand modules, and hand them to each file.
      experimental: { viteModuleRunner: false, nodeLoader: false },
      projects: [
        {
          extends: true,
          test: {
            name: 'light',
            include: light,
            // Files share a process and what it has loaded, which takes longer than most tests.
            isolate: false,
            setupFiles: ['test/setup/own-variables.ts'],
          },
        },
        { extends: true, test: { name: 'alone', include: alone } },
        {
          extends: true,
          test: {
            name: 'shared',
            include: shared,
            isolate: false,
            setupFiles: ['test/setup/own-variables.ts', 'test/setup/endless-scripts.ts'],
            // Workflows run in their worker's thread: another one takes longer to start than most turns last.
            env: mode === 'deep' ? {} : { TEMPORAL_DEBUG: '1' },
          },
        },
        ...(mode === 'deep' ? ['inline', 'chain'] : []).map((steps) => ({
          extends: true as const,
          test: {
            name: steps,
            include: IN_EACH_STEP_MODE,
            isolate: false,
            setupFiles: ['test/setup/own-variables.ts', 'test/setup/endless-scripts.ts'],
            env: { HOLDFAST_TEST_STEPS: steps },
          },
        })),
      ],
    },
  };
});
