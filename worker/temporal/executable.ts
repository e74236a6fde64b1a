import { join, resolve } from 'node:path';
import { executableName, findOnPath, isExecutableFile, pathFolders, run } from './child-process.ts';
import { type FailedAttempt, TemporalUnavailable } from './errors.ts';
import { serverEnvironment } from './server-environment.ts';
import { REQUIRED_FLAGS } from './start-flags.ts';

const CHECK_TIMEOUT = 5_000;

/** A `temporal` program that has shown that it can be our server. */
export interface TemporalExecutable {
  path: string;
  /** Output of `temporal --version` without its first words. */
  version: string;
  /** Flags that its `server start-dev` takes, without dashes. */
  flags: ReadonlySet<string>;
}

export interface ExecutableSearch {
  /** A path someone has chosen: it is used, or the search fails; it is never passed over. */
  configured?: string | undefined;
  cacheFolder: string;
  env: NodeJS.ProcessEnv;
}

/** Folders in the cache that hold a ready `temporal`, the preferred one first. The built one names its server's version. */
export const CACHE_SLOTS = { download: 'temporal-sdk', build: 'temporal-dev-1.30.8' } as const;

export function cachedExecutable(cacheFolder: string, slot: keyof typeof CACHE_SLOTS): string {
  return join(cacheFolder, CACHE_SLOTS[slot], executableName('temporal'));
}

/**
 * Looks for a usable `temporal`: the configured path, PATH, the cache. Each is run once with `--version` and
 * once with `--help`, so that another program of that name, or one too old, is not taken.
 *
 * @returns the executable, or the failed attempts
 * @throws {TemporalUnavailable} a path was configured and is of no use
 */
export async function findExecutable(
  search: ExecutableSearch,
): Promise<TemporalExecutable | FailedAttempt[]> {
  const { configured, cacheFolder, env } = search;
  if (configured) {
    const path = resolve(configured);
    const checked = await check(path, env);
    if (typeof checked !== 'string') return checked;
    throw new TemporalUnavailable(
      'The configured Temporal executable is of no use:',
      [{ what: path, why: checked }],
      ['correct the path (HOLDFAST_TEMPORAL_CLI)', 'remove it, and Holdfast looks for one by itself'],
    );
  }
  const attempts: FailedAttempt[] = [
    { what: 'a configured path (HOLDFAST_TEMPORAL_CLI)', why: 'none is set' },
    { what: 'PATH', why: `no \`temporal\` in its ${pathFolders(env).length} folders` },
  ];
  const onPath = await findOnPath('temporal', env);
  if (onPath.length > 0) attempts.pop();
  for (const path of onPath) {
    const checked = await check(path, env);
    if (typeof checked !== 'string') return checked;
    attempts.push({ what: `PATH, ${path}`, why: checked });
  }
  const cached = await findCached(cacheFolder, env);
  return Array.isArray(cached) ? [...attempts, ...cached] : cached;
}

/** The part of the search that another process may have changed meanwhile. */
export async function findCached(
  cacheFolder: string,
  env: NodeJS.ProcessEnv,
): Promise<TemporalExecutable | FailedAttempt[]> {
  const attempts: FailedAttempt[] = [];
  for (const slot of ['download', 'build'] as const) {
    const path = cachedExecutable(cacheFolder, slot);
    if (!(await isExecutableFile(path))) continue;
    const checked = await check(path, env);
    if (typeof checked !== 'string') return checked;
    attempts.push({ what: `the cache, ${path}`, why: checked });
  }
  return attempts.length > 0 ? attempts : [{ what: 'the cache', why: `nothing in ${cacheFolder}` }];
}

/** @returns the executable, or why it is of no use */
export async function check(path: string, env: NodeJS.ProcessEnv): Promise<TemporalExecutable | string> {
  if (!(await isExecutableFile(path))) return 'there is no executable file';
  const options = { env: serverEnvironment(env), timeout: CHECK_TIMEOUT };
  const [about, help] = await Promise.all([
    run(path, ['--version'], options),
    run(path, ['server', 'start-dev', '--help'], options),
  ]);
  const version = /^temporal version (.+)$/m.exec(about.stdout)?.[1]?.trim();
  if (about.exitCode !== 0 || version === undefined) {
    const said = about.failure ?? firstLine(about.stderr || about.stdout) ?? `exit code ${about.exitCode}`;
    return `\`temporal --version\` is not that of the Temporal CLI (${said})`;
  }
  const flags = new Set(
    [...help.stdout.matchAll(/^ +(?:-\w, )?--([a-z][a-z-]*)/gm)].map((match) => match[1] ?? ''),
  );
  const lacking = REQUIRED_FLAGS.filter((flag) => !flags.has(flag));
  if (lacking.length > 0) return `version ${version} lacks ${lacking.map((flag) => `--${flag}`).join(', ')}`;
  return { path, version, flags };
}

function firstLine(text: string): string | undefined {
  return text.trim().split('\n')[0]?.slice(0, 200) || undefined;
}
