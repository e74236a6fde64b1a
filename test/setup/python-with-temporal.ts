import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';

const PACKAGE = 'temporalio==1.35.0';
const LONGEST_INSTALL = 300_000;

/** A Python that has the package `temporalio`, or why there is none. */
export type PythonWithTemporal = { path: string } | { missing: string };

/** A virtual environment in the cache folder, so that later runs are quick. */
export function pythonWithTemporal(): PythonWithTemporal {
  const system = ['python3', 'python'].find(
    (name) => run(name, ['-c', 'import venv, ensurepip']).status === 0,
  );
  if (system === undefined) return { missing: 'there is no python3 with venv and pip on PATH' };
  const version = run(system, ['-c', 'import platform; print(platform.python_version())']).stdout.trim();
  const parent = join(defaultCacheFolder(process.env), 'python');
  const folder = join(parent, `${PACKAGE.replace('==', '-')}-python-${version}`);
  if (isComplete(folder)) return { path: executableOf(folder) };

  mkdirSync(parent, { recursive: true });
  const fresh = mkdtempSync(join(parent, 'new-'));
  try {
    if (run(system, ['-m', 'venv', fresh]).status !== 0) return { missing: `${system} -m venv failed` };
    const install = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--retries',
      '1',
      PACKAGE,
    ];
    if (run(executableOf(fresh), install).status !== 0) {
      return { missing: `pip of Python ${version} could not install ${PACKAGE}` };
    }
    // Another run may have been faster.
    if (!existsSync(folder)) renameSync(fresh, folder);
    if (isComplete(folder)) return { path: executableOf(folder) };
    return { missing: `the virtual environment of ${PACKAGE} in the cache folder is broken: remove it` };
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function isComplete(folder: string): boolean {
  return existsSync(folder) && run(executableOf(folder), ['-c', 'import temporalio.client']).status === 0;
}

function executableOf(folder: string): string {
  return process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python');
}

function run(program: string, args: readonly string[]) {
  return spawnSync(program, args, { encoding: 'utf8', timeout: LONGEST_INSTALL });
}
