import { resolve } from 'node:path';
import { defaultCacheFolder } from '../../../worker/temporal/cache-folder.ts';
import { findOnPath, isExecutableFile, run } from '../../../worker/temporal/child-process.ts';
import { CACHE_SLOTS, cachedExecutable } from '../../../worker/temporal/executable.ts';
import { serverEnvironment } from '../../../worker/temporal/server-environment.ts';
import { CliError } from '../cli-error.ts';

const CHECK_TIMEOUT = 5_000;

/**
 * The Temporal CLI: that of `HOLDFAST_TEMPORAL_CLI`, else of PATH, else of the cache. A program that is a development server alone,
 * which may be in any of these places, is none.
 *
 * @returns its path, or why there is none.
 * @throws CliError where `HOLDFAST_TEMPORAL_CLI` names none.
 */
export async function findTemporalCli(env: NodeJS.ProcessEnv): Promise<string | { why: string }> {
  const configured = env.HOLDFAST_TEMPORAL_CLI;
  if (configured) {
    const path = resolve(configured);
    if (await isCli(path, env)) return path;
    if (await isExecutableFile(path))
      return { why: `HOLDFAST_TEMPORAL_CLI: ${path} is a development server alone` };
    throw new CliError(
      `HOLDFAST_TEMPORAL_CLI: ${path} is no executable file: name the Temporal CLI, or unset it`,
    );
  }
  const cacheFolder = defaultCacheFolder(env);
  const slots = Object.keys(CACHE_SLOTS) as (keyof typeof CACHE_SLOTS)[];
  const places = [
    ...(await findOnPath('temporal', env)),
    ...slots.map((slot) => cachedExecutable(cacheFolder, slot)),
  ];
  const serversAlone: string[] = [];
  for (const path of places) {
    if (!(await isExecutableFile(path))) continue;
    if (await isCli(path, env)) return path;
    serversAlone.push(path);
  }
  const [alone] = serversAlone;
  const why =
    alone === undefined ? 'neither PATH nor the cache has it' : `${alone} is a development server alone`;
  return { why };
}

async function isCli(path: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const options = { env: serverEnvironment(env), timeout: CHECK_TIMEOUT };
  const { exitCode, stdout } = await run(path, ['workflow', 'list', '--help'], options);
  return exitCode === 0 && stdout.includes('--query');
}
