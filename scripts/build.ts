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
 * Compiles `dist/`, puts the development server's source and the store's SQL into it, and builds the workflow bundle, where it was
 * built from other sources. A process that runs from `dist/` meanwhile finds its files.
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
  cpSync(`${root}src/store`, `${root}dist/src/store`, {
    recursive: true,
    filter: (path) => path.endsWith('.sql') || statSync(path).isDirectory(),
  });
  removeOlderThan(started - COARSEST_TIME);
  const { buildBundle, writeChecks } = await import('./build-bundle.ts');
  await writeChecks();
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
  for (const path of globSync('dist/{src,workflows,activities,worker}/**/*', { cwd: root })) {
    const file = statSync(root + path);
    if (file.isFile() && file.mtimeMs < time) rmSync(root + path);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
