import { createRequire } from 'node:module';

/** Holdfast's version. */
export function ownVersion(): string {
  const built = import.meta.url.endsWith('.js');
  const manifest: unknown = createRequire(import.meta.url)(built ? '../../package.json' : '../package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '';
}
