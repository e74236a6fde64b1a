import { fileURLToPath } from 'node:url';
import { build } from '../../scripts/build.ts';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { makeStore } from './made-store.ts';
import { startDatabases } from './own-database.ts';

const compileCache = fileURLToPath(new URL('../../node_modules/.cache/holdfast-compile', import.meta.url));

/** What tests share: the built package, its workflow bundle, a Temporal server's executable, a PostgreSQL server, and stores to copy. */
export default async function setup(): Promise<() => Promise<void>> {
  await build();
  const { path } = await obtainExecutable({
    configured: process.env.HOLDFAST_TEMPORAL_CLI,
    cacheFolder: defaultCacheFolder(process.env),
    env: process.env,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  process.env.HOLDFAST_TEMPORAL_CLI = path;
  // Test files and the processes that they start load the same packages, hundreds of times.
  process.env.NODE_COMPILE_CACHE ??= compileCache;
  await makeStore();
  return await startDatabases();
}
