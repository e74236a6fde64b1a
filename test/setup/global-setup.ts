import { build } from '../../scripts/build.ts';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';

/** What tests share: the built package, its workflow bundle, and a Temporal server's executable. */
export default async function setup(): Promise<void> {
  await build();
  const { path } = await obtainExecutable({
    configured: process.env.HOLDFAST_TEMPORAL_CLI,
    cacheFolder: defaultCacheFolder(process.env),
    env: process.env,
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  process.env.HOLDFAST_TEMPORAL_CLI = path;
}
