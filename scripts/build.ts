import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Says what `dist/` was built from. */
const STAMP = `${root}node_modules/.cache/holdfast-built`;
const SOURCES = [
  '{src,workflows,activities,worker}/**/*',
  'scripts/build*.ts',
  'tsconfig*.json',
  'package*.json',
];
const RESULTS = ['dist/src/index.js', 'dist/worker/index.js', 'dist/workflow-bundle.js'];

/** File times of some file systems are this coarse, in milliseconds. */
const COARSEST_TIME = 2_000;

/**
 * Writes `dist/` where it was built from other sources: types, bundled code, the development server's source, the workflow bundle.
 * A process that runs from `dist/` meanwhile finds its files.
 */
export async function build(): Promise<void> {
  const sources = digestOfSources();
  if (RESULTS.every((path) => existsSync(root + path)) && builtFrom() === sources) return;
  rmSync(STAMP, { force: true });
  const started = Date.now();
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('tsc failed');
  cpSync(`${root}worker/temporal/server`, `${root}dist/worker/temporal/server`, { recursive: true });
  const { buildCode } = await import('./build-code.ts');
  await buildCode();
  removeOlderThan(started - COARSEST_TIME);
  const { buildBundle } = await import('./build-bundle.ts');
  await buildBundle();
  mkdirSync(dirname(STAMP), { recursive: true });
  writeFileSync(STAMP, sources);
}

function builtFrom(): string | undefined {
  return existsSync(STAMP) ? readFileSync(STAMP, 'utf8') : undefined;
}

function digestOfSources(): string {
  const hash = createHash('sha256').update(root);
  for (const path of globSync(SOURCES, { cwd: root }).sort()) {
    if (statSync(root + path).isFile()) hash.update(`${path}\n`).update(readFileSync(root + path));
  }
  return hash.digest('hex');
}

/** Files whose sources are gone are still there from an earlier build; all others were written anew. */
function removeOlderThan(time: number): void {
  for (const path of globSync('dist/{src,workflows,activities,worker,chunks}/**/*', { cwd: root })) {
    const file = statSync(root + path);
    if (file.isFile() && file.mtimeMs < time) rmSync(root + path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
