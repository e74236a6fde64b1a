import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { ownVersion } from '../../own-version.ts';
import { isRecord } from '../../protocol/json.ts';

/** The package's folder, of sources and of what is built of them alike. */
const FOLDER = resolve(import.meta.dirname, import.meta.url.endsWith('.js') ? '../../../..' : '../../..');

/**
 * What a `package.json` requires this very Holdfast by: its version where it came from a registry, else the tarball, the git URL
 * or the clone that it was installed from.
 */
export function ownSource(folder = FOLDER): string {
  const modules = dirname(folder);
  if (basename(modules) !== 'node_modules') return `file:${folder}`;
  const resolved = resolvedIn(modules, basename(folder));
  if (resolved === undefined || /\/-\/[^/]+\.tgz$/.test(resolved)) return ownVersion();
  if (resolved.startsWith('file:'))
    return `file:${resolve(dirname(modules), resolved.slice('file:'.length))}`;
  return withoutCredentials(resolved);
}

/** Where npm says that a package came from. Other package managers write no such file: then the version has to do. */
function resolvedIn(modules: string, name: string): string | undefined {
  try {
    const lock: unknown = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
    const packages = isRecord(lock) && isRecord(lock.packages) ? lock.packages : {};
    const own = packages[`node_modules/${name}`];
    return isRecord(own) && typeof own.resolved === 'string' ? own.resolved : undefined;
  } catch {
    return undefined;
  }
}

/** A password or token of the URL doesn't belong into a file that is committed; `git@` of SSH is none. */
function withoutCredentials(url: string): string {
  return url.replace(/^((?:git\+)?https?:\/\/)[^/@]*@/, '$1');
}
