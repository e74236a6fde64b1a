import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executableName, findOnPath, run } from '../../worker/temporal/child-process.ts';

const BUILD_TIMEOUT = 60 * 60_000;
const PROGRESS_INTERVAL = 15_000;
const PACKAGE_LINE = /^[\w.~/-]+$/;

const MODULE = 'go.temporal.io/server';

/** Newer patches of required modules, where some proxies don't have the very version. */
const NEWER = ['github.com/aws/aws-sdk-go-v2/service/lambda v1.88.5'];

/** Packages of the server's module, and the names that their programs have in its images. */
const PROGRAMS = { 'cmd/server': 'temporal-server', 'cmd/tools/sql': 'temporal-sql-tool' } as const;

/**
 * A folder with the programs that the images of the Temporal server hold in this version: from the cache, else built with
 * Go, which takes minutes, once.
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
    // A module of our own that requires the server's: `go install …@version` looks for modules of each longer path, too, and fails
    // where a proxy refuses these instead of not finding them.
    const required = [`${MODULE} v${version}`, ...NEWER].map((each) => `require ${each}\n`).join('');
    await writeFile(join(draft, 'go.mod'), `module holdfast/deploy\n\ngo 1.24\n\n${required}`);
    const programs = join(draft, 'programs');
    await mkdir(programs);
    for (const [path, program] of Object.entries(PROGRAMS)) {
      const target = join(programs, executableName(program));
      await build(go, { package: `${MODULE}/${path}`, target, cwd: draft }, options);
    }
    // Another run may have been faster.
    if (!existsSync(folder)) await rename(programs, folder);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return { folder, builtInMs: Date.now() - started };
}

async function build(
  go: string,
  { package: path, target, cwd }: { package: string; target: string; cwd: string },
  { env, onProgress }: { env: NodeJS.ProcessEnv; onProgress: (line: string) => void },
): Promise<void> {
  const started = Date.now();
  let packages = 0;
  const complaints: string[] = [];
  const report = () => onProgress(`go build ${path}: ${seconds(started)} s, ${packages} packages compiled`);
  report();
  const timer = setInterval(report, PROGRESS_INTERVAL);
  try {
    const result = await run(go, ['build', '-mod=mod', '-v', '-ldflags', '-s -w', '-o', target, path], {
      env,
      cwd,
      timeout: BUILD_TIMEOUT,
      onErrorLine: (line) => {
        if (PACKAGE_LINE.test(line)) packages += 1;
        else if (!line.startsWith('go: downloading ')) complaints.push(line);
      },
    });
    if (result.exitCode === 0) return;
    const why = result.failure ?? `exit code ${result.exitCode}`;
    throw new Error([`go build ${path}: ${why}`, ...complaints.slice(-8)].join('\n'));
  } finally {
    clearInterval(timer);
  }
}

function seconds(since: number): number {
  return Math.round((Date.now() - since) / 1000);
}
