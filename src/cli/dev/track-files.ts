import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OWN_FOLDERS } from '../../own-files.ts';
import type { LoadedFile } from './child-messages.ts';

const PACKAGES = `${sep}node_modules${sep}`;

/**
 * From now on, tells each file that this process loads and a person may edit, and each relative import that finds none. Once
 * each; not the files of packages.
 */
export function trackFiles(onFile: (file: LoadedFile) => void): void {
  const known = new Set<string>();
  const tell = (url: string) => {
    if (!url.startsWith('file:')) return;
    const path = fileURLToPath(url);
    if (known.has(path) || path.includes(PACKAGES) || OWN_FOLDERS.some((folder) => path.startsWith(folder)))
      return;
    known.add(path);
    onFile({ path, digest: digestOf(path) });
  };
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        const { parentURL } = context;
        if (/^\.\.?\//.test(specifier) && parentURL?.startsWith('file:'))
          tell(new URL(specifier, parentURL).href);
        throw error;
      }
    },
    load(url, context, next) {
      // Before it is loaded: what is written in between counts as a change.
      tell(url);
      return next(url, context);
    },
  });
}

/** Of a file's content; empty where there is no such file. */
export function digestOf(path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('base64');
  } catch {
    return '';
  }
}
