import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownVersion } from '../../src/own-files.ts';

const HISTORIES = fileURLToPath(new URL('../histories/', import.meta.url));

export interface RecordedHistory {
  /** Of `TURN_KINDS`. */
  kind: string;
  path: string;
}

/** Each release has a folder with the histories that it recorded. They stay, and all later releases replay them. */
export const RECORDED: readonly RecordedHistory[] = globSync('*/*.json', { cwd: HISTORIES })
  .sort()
  .map((path) => ({ kind: basename(path, '.json'), path: join(HISTORIES, path) }));

/** As `historyToJSON` of Temporal's writes it. */
export function readHistory({ path }: RecordedHistory) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Where this release records: `test/histories/1.2` of version 1.2.3. */
export const OWN_HISTORIES = join(HISTORIES, ownVersion().split('.').slice(0, 2).join('.'));
