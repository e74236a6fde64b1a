import { spawnSync } from 'node:child_process';
import { cpSync, globSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildBundle } from './build-bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** File times of some file systems are this coarse, in milliseconds. */
const COARSEST_TIME = 2_000;

/** Compiles `dist/`, puts the development server's source into it, and builds the workflow bundle. What runs from `dist/` meanwhile finds its files. */
export async function build(): Promise<void> {
  const started = Date.now();
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('tsc failed');
  removeOlderThan(started - COARSEST_TIME);
  cpSync(`${root}worker/temporal/server`, `${root}dist/worker/temporal/server`, { recursive: true });
  await buildBundle();
}

/** Files whose sources are gone are still there from an earlier build; the compiler has written all others anew. */
function removeOlderThan(time: number): void {
  for (const path of globSync('dist/{src,workflows,activities,worker}/**/*.{js,ts,map}', { cwd: root })) {
    if (statSync(root + path).mtimeMs < time) rmSync(root + path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
