import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { moduleFile } from '../../src/own-files.ts';
import { messageOf } from '../../src/protocol/message-of.ts';
import { type ExclusiveHold, readLockOwner, tryHoldExclusively } from '../folder/exclusive.ts';
import { run } from './child-process.ts';
import { type FailedAttempt, TemporalUnavailable } from './errors.ts';
import {
  cachedExecutable,
  type ExecutableSearch,
  findCached,
  findExecutable,
  type TemporalExecutable,
} from './executable.ts';
import { goBuild } from './go-build.ts';
import { putInPlace, removeDrafts } from './install-place.ts';

const LOCK_INTERVAL = 200;
const PROGRESS_INTERVAL = 5_000;

export interface InstallOptions extends ExecutableSearch {
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * A usable `temporal`: found (configured path, PATH, cache), else downloaded by the SDK, else built with Go. Two
 * processes that need to install at once do it once: the second says that it waits, and takes what is there.
 *
 * @throws {TemporalUnavailable} with every attempt and its reason
 */
export async function obtainExecutable(options: InstallOptions): Promise<TemporalExecutable> {
  const found = await findExecutable(options);
  if (!Array.isArray(found)) return found;
  const attempts = [...found];
  let lock: ExclusiveHold;
  try {
    lock = await waitForInstallLock(options);
  } catch (error) {
    options.signal?.throwIfAborted();
    attempts.push({
      what: 'writing into the cache',
      why: messageOf(error),
    });
    throw unavailable(attempts);
  }
  try {
    const installedMeanwhile = await findCached(options.cacheFolder, options.env);
    if (!Array.isArray(installedMeanwhile)) return installedMeanwhile;
    await removeDrafts(options.cacheFolder);
    return await install(options, attempts);
  } finally {
    lock.release();
  }
}

async function install(options: InstallOptions, attempts: FailedAttempt[]): Promise<TemporalExecutable> {
  const ways = [
    { what: "the SDK's download", attempt: sdkDownload },
    { what: 'building one with Go', attempt: goBuild },
  ];
  for (const { what, attempt } of ways) {
    let why = await attempt(options).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      return messageOf(error);
    });
    if (why === undefined) {
      const installed = await findCached(options.cacheFolder, options.env);
      if (!Array.isArray(installed)) return installed;
      why = installed.map((failed) => failed.why).join('; ');
    }
    options.onProgress(`${what} failed: ${why.split('\n')[0]}`);
    attempts.push({ what, why });
  }
  throw unavailable(attempts);
}

async function waitForInstallLock(options: InstallOptions): Promise<ExclusiveHold> {
  const { cacheFolder, onProgress, signal } = options;
  await mkdir(cacheFolder, { recursive: true });
  const ownerFile = join(cacheFolder, 'install-owner.json');
  const started = Date.now();
  let reported = Number.NEGATIVE_INFINITY;
  for (;;) {
    signal?.throwIfAborted();
    const lock = tryHoldExclusively(join(cacheFolder, 'install-lock.sqlite'), ownerFile);
    if (lock) return lock;
    if (Date.now() - reported >= PROGRESS_INTERVAL) {
      reported = Date.now();
      const owner = readLockOwner(ownerFile);
      const who = owner ? `process ${owner.pid}` : 'another process';
      const seconds = Math.round((reported - started) / 1000);
      onProgress(`waiting for ${who}, which is installing Temporal: ${seconds} s`);
    }
    await delay(LOCK_INTERVAL, undefined, { signal });
  }
}

function unavailable(attempts: readonly FailedAttempt[]): TemporalUnavailable {
  return new TemporalUnavailable(
    'No Temporal server is configured, and none could be found, downloaded or built. Tried:',
    attempts,
    [
      'install the Temporal CLI (https://docs.temporal.io/cli), so that `temporal` is on PATH',
      'set HOLDFAST_TEMPORAL_CLI to the path of a `temporal` executable',
      'set TEMPORAL_ADDRESS to a running Temporal server, for example localhost:7233',
      'install Go (https://go.dev/dl), and Holdfast builds Temporal by itself',
    ],
  );
}

const DOWNLOAD_TIMEOUT = 60_000;

interface SdkDownloadOptions {
  cacheFolder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Lets Temporal's SDK download the development server that belongs to its version, as its test environment
 * does, and moves it into the cache. It runs in a process of its own: there it can be ended when it hangs, and
 * the SDK's runtime of this process stays unmade, so that it can still be configured. The caller holds the
 * install lock.
 *
 * @returns undefined when it is there, else why not
 */
async function sdkDownload(options: SdkDownloadOptions): Promise<string | undefined> {
  const { cacheFolder, env, onProgress, signal } = options;
  const target = cachedExecutable(cacheFolder, 'download');
  const draft = `${dirname(target)}.tmp-${process.pid}`;
  await mkdir(draft, { recursive: true });
  onProgress('downloading the Temporal development server (once)');
  try {
    const program = moduleFile('worker/temporal/sdk-download-process');
    const result = await run(process.execPath, [program, draft], { env, timeout: DOWNLOAD_TIMEOUT, signal });
    const downloaded = (await readdir(draft)).find((name) => !name.endsWith('.downloading'));
    if (downloaded === undefined)
      return result.failure ?? lastLine(result.stderr) ?? `exit code ${result.exitCode}`;
    await putInPlace(join(draft, downloaded), target);
    return undefined;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1) || undefined;
}
