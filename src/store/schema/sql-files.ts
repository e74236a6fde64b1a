import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CODE_FOLDER } from '../../own-files.ts';

const STORE = join(CODE_FOLDER, 'src/store');

/**
 * The SQL of each noun's room by its path there, as in `schema/tables.sql`. The built package has the texts in the place of this module.
 * They have the same checksum on every system: Git may have written `\r\n`.
 */
export const SQL_FILES: Record<string, string> = Object.fromEntries(
  globSync('*/*.sql', { cwd: STORE })
    .sort()
    .map((path) => [
      path.replaceAll('\\', '/'),
      readFileSync(join(STORE, path), 'utf8').replaceAll('\r\n', '\n'),
    ]),
);
