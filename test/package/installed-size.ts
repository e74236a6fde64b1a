import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What `npm install` has put into a folder: entries of npm's own list, and MB as `du -m` counts them. */
export function installedSize(folder: string): { packages: number; megabytes: number } {
  const modules = join(folder, 'node_modules');
  const { packages } = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
  const paths = readdirSync(modules, { recursive: true, encoding: 'utf8' });
  const blocks = paths.reduce(
    (sum, path) => sum + (statSync(join(modules, path), { throwIfNoEntry: false })?.blocks ?? 0),
    0,
  );
  return { packages: Object.keys(packages).length, megabytes: blocks / 2 / 1024 };
}
