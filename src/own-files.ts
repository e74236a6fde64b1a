import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

const BUILT = import.meta.url.endsWith('.js');
const MANIFEST = findPackageJSON(import.meta.url) as string;

/** The package's folder, for its sources and for what is built of them alike. */
export const PACKAGE_FOLDER = dirname(MANIFEST);

/** The folder of Holdfast's code: `dist/`, or the package's where its sources run. */
export const CODE_FOLDER = BUILT ? join(PACKAGE_FOLDER, 'dist') : PACKAGE_FOLDER;

/** Nothing in them is of users. Each ends with a slash. */
export const OWN_FOLDERS = ['src', 'activities', 'worker', 'workflows', 'chunks'].map((folder) =>
  join(CODE_FOLDER, folder, '/'),
);

/**
 * The file of a module that runs by itself, or is loaded by its path. `scripts/build-code.ts` reads the calls of this function: each name
 * is an entry of what it bundles.
 *
 * @param name path in the repository, without the ending
 */
export function moduleFile(name: string): string {
  return join(CODE_FOLDER, `${name}.${BUILT ? 'js' : 'ts'}`);
}

/** Holdfast's version. */
export function ownVersion(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  return manifest.version;
}
