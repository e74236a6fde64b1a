import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { executableName, findOnPath, run } from '../../worker/temporal/child-process.ts';

const BUILD_TIMEOUT = 60 * 60_000;
const PROGRESS_INTERVAL = 15_000;
const PACKAGE_LINE = /^[\w.~/-]+$/;

/** Packages of the server's module, and the names that their programs have in its images. */
const PROGRAMS = { 'cmd/server': 'temporal-server', 'cmd/tools/sql': 'temporal-sql-tool' } as const;

/**
 * A folder with the programs that the images of the Temporal server hold in this version: from the cache, else built with
 * `go install`, which takes minutes, once.
 *
 * @throws Error where there is no Go, or the build fails: with its last lines.
 */
export async function serverPrograms(
  version: string,
  options: { cacheFolder: string; env: NodeJS.ProcessEnv; onProgress: (line: string) => void },
): Promise<{ folder: string; builtInMs: number | undefined }> {
  const folder = join(options.cacheFolder, `temporal-server-v${version}`);
  if (existsSync(folder)) return { folder, builtInMs: undefined };
  const [go] = await findOnPath('go', options.env);
  if (go === undefined)
    throw new Error(`there is no \`go\` on PATH to build the Temporal server ${version}: https://go.dev/dl`);
  const started = Date.now();
  const draft = `${folder}.tmp-${process.pid}`;
  await mkdir(draft, { recursive: true });
  try {
    for (const [path, program] of Object.entries(PROGRAMS)) {
      await install(go, `go.temporal.io/server/${path}@v${version}`, draft, options);
      const built = join(draft, executableName(path.split('/').at(-1) ?? path));
      await rename(built, join(draft, executableName(program)));
    }
    // Another run may have been faster.
    if (!existsSync(folder)) await rename(draft, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { folder, builtInMs: Date.now() - started };
}

async function install(
  go: string,
  target: string,
  folder: string,
  { env, onProgress }: { env: NodeJS.ProcessEnv; onProgress: (line: string) => void },
): Promise<void> {
  const started = Date.now();
  let packages = 0;
  const complaints: string[] = [];
  const report = () =>
    onProgress(`go install ${target}: ${seconds(started)} s, ${packages} packages compiled`);
  report();
  const timer = setInterval(report, PROGRESS_INTERVAL);
  try {
    const result = await run(go, ['install', '-v', '-ldflags', '-s -w', target], {
      env: { ...env, GOBIN: folder, GOFLAGS: `${env.GOFLAGS ?? ''} -mod=mod`.trim() },
      cwd: folder,
      timeout: BUILD_TIMEOUT,
      onErrorLine: (line) => {
        if (PACKAGE_LINE.test(line)) packages += 1;
        else if (!line.startsWith('go: downloading ')) complaints.push(line);
      },
    });
    if (result.exitCode === 0) return;
    const why = result.failure ?? `exit code ${result.exitCode}`;
    throw new Error([`go install ${target}: ${why}`, ...complaints.slice(-8)].join('\n'));
  } finally {
    clearInterval(timer);
  }
}

function seconds(since: number): number {
  return Math.round((Date.now() - since) / 1000);
}
