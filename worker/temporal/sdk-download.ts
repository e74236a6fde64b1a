import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './child-process.ts';
import { cachedExecutable } from './executable.ts';
import { putInPlace } from './install-place.ts';

const DOWNLOAD_TIMEOUT = 60_000;
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const PROGRAM = fileURLToPath(new URL(`./sdk-download-process.${EXTENSION}`, import.meta.url));

export interface SdkDownloadOptions {
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
export async function sdkDownload(options: SdkDownloadOptions): Promise<string | undefined> {
  const { cacheFolder, env, onProgress, signal } = options;
  const target = cachedExecutable(cacheFolder, 'download');
  const draft = `${dirname(target)}.tmp-${process.pid}`;
  await mkdir(draft, { recursive: true });
  onProgress('downloading the Temporal development server (once)');
  try {
    const result = await run(process.execPath, [PROGRAM, draft], { env, timeout: DOWNLOAD_TIMEOUT, signal });
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
