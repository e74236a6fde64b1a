import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CODE_FOLDER } from '../../src/own-files.ts';
import { executableName, findOnPath, run } from './child-process.ts';
import { cachedExecutable } from './executable.ts';
import { putInPlace } from './install-place.ts';

/** The source of the development server. `dist` has a copy at the same place. */
const SOURCE = join(CODE_FOLDER, 'worker/temporal/server');

const PROGRESS_INTERVAL = 5_000;
const BUILD_TIMEOUT = 30 * 60_000;
const PACKAGE_LINE = /^[\w.~/-]+$/;
const DOWNLOAD_LINE = /^go: downloading /;

export interface GoBuildOptions {
  cacheFolder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Builds a Temporal development server into the cache, which takes minutes. The caller holds the install lock. It isn't the
 * Temporal CLI: its newer releases can't be installed by `go install`, since their modules replace one of their own.
 *
 * @returns undefined when it is there, else why not
 */
export async function goBuild(options: GoBuildOptions): Promise<string | undefined> {
  const { cacheFolder, env, onProgress, signal } = options;
  const [go] = await findOnPath('go', env);
  if (go === undefined) return 'there is no `go` on PATH';
  const target = cachedExecutable(cacheFolder, 'build');
  const draft = `${dirname(target)}.tmp-${process.pid}`;
  const started = Date.now();
  let packages = 0;
  let downloads = 0;
  const complaints: string[] = [];
  const report = () => {
    const seconds = Math.round((Date.now() - started) / 1000);
    const detail =
      packages > 0 ? `, ${packages} packages compiled` : downloads > 0 ? `, ${downloads} downloads` : '';
    onProgress(`building Temporal with go (once, takes some minutes): ${seconds} s${detail}`);
  };
  await mkdir(draft, { recursive: true });
  report();
  const timer = setInterval(report, PROGRESS_INTERVAL);
  try {
    const program = join(draft, executableName('temporal'));
    const result = await run(
      go,
      ['build', '-v', '-mod=readonly', '-trimpath', '-ldflags=-s -w', '-o', program, '.'],
      {
        env: { ...env, GOWORK: 'off' },
        cwd: SOURCE,
        timeout: BUILD_TIMEOUT,
        signal,
        onErrorLine: (line) => {
          if (DOWNLOAD_LINE.test(line)) downloads += 1;
          else if (PACKAGE_LINE.test(line)) packages += 1;
          else complaints.push(line);
        },
      },
    );
    if (result.exitCode !== 0) {
      const said = complaints.filter((line) => line.trim() !== '').slice(-8);
      return [result.failure ?? `exit code ${result.exitCode}`, ...said].join('\n');
    }
    await putInPlace(program, target);
    onProgress(`built Temporal in ${Math.round((Date.now() - started) / 1000)} s`);
    return undefined;
  } finally {
    clearInterval(timer);
    await rm(draft, { recursive: true, force: true });
  }
}
