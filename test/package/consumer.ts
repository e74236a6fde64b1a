import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** With this Node before the system's. */
export const path = [dirname(process.execPath), process.env.PATH].join(delimiter);

interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Nothing of this folder's `node_modules/.bin`, nor of a key for Gemini, reaches a consumer. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  const {
    GEMINI_API_KEY: _gemini,
    GOOGLE_API_KEY: _google,
    NODE_OPTIONS: _options,
    ...inherited
  } = process.env;
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      {
        cwd,
        env: { ...inherited, NO_COLOR: '1', ...env },
        maxBuffer: 64 * 1024 * 1024,
        shell: process.platform === 'win32',
      },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

/** @throws where npm fails, with what it says. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  // `npm test --silent` would have it say nothing of what fails.
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { code, stdout, stderr } = await run('npm', [...args, ...options], cwd);
  if (code !== 0) throw new Error(`npm ${args[0]} failed with ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** Packs what was built; resolves with the tarball and the paths in it. */
export async function pack(into: string): Promise<{ tarball: string; paths: string[] }> {
  const [{ filename, files }] = JSON.parse(
    await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', into], root),
  );
  return { tarball: join(into, filename), paths: files.map((file: { path: string }) => file.path) };
}

/**
 * A project with the tarball unpacked, and with links to what npm would install with it: the packages of the lock that aren't for
 * development alone. Installing them takes longer than all that is asked of them.
 */
export async function linkedProject(folder: string, tarball: string): Promise<void> {
  emptyProject(folder);
  const modules = join(folder, 'node_modules');
  const own = join(modules, 'holdfast');
  mkdirSync(own, { recursive: true });
  const unpacked = await run('tar', ['-xzf', tarball, '-C', own, '--strip-components=1'], folder);
  if (unpacked.code !== 0) throw new Error(unpacked.stderr);
  const lock: { packages: Record<string, { dev?: true }> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  for (const [place, { dev }] of Object.entries(lock.packages)) {
    const [, name, more] = place.split('node_modules/');
    if (name === undefined || more !== undefined || dev || !existsSync(join(root, place))) continue;
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    symlinkSync(join(root, place), join(folder, place), 'junction');
  }
}

/** An empty project of a user's. */
export function emptyProject(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name":"consumer","private":true,"type":"module"}');
}

/** The JSON that a program prints, and nothing else. */
export async function printed(script: string, args: readonly string[], cwd: string): Promise<unknown> {
  const { code, stdout, stderr } = await run(process.execPath, [script, ...args], cwd);
  if (code !== 0 || stderr !== '') throw new Error(`${script} failed with ${code}:\n${stdout}\n${stderr}`);
  return JSON.parse(stdout);
}
