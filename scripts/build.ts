import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildBundle } from './build-bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Compiles `dist/` and builds the workflow bundle. */
export async function build(): Promise<void> {
  for (const room of ['src', 'workflows', 'activities', 'worker']) {
    rmSync(`${root}dist/${room}`, { recursive: true, force: true });
  }
  const { status } = spawnSync(
    process.execPath,
    [`${root}node_modules/typescript/bin/tsc`, '-p', 'tsconfig.build.json'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  if (status !== 0) throw new Error('tsc failed');
  await buildBundle();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
