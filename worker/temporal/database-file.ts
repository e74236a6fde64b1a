import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Relative to the folder of the server, which is its working directory. */
export const DATABASE_FILE = 'temporal.db';

/**
 * To be called before a server starts. A server that is killed while it creates its tables leaves a file with
 * which none starts ever again, so that a new database is marked until a server has answered on it. One that is
 * still marked has never been used: it is made anew.
 */
export function prepareDatabase(folder: string): void {
  const database = join(folder, DATABASE_FILE);
  if (existsSync(marker(folder))) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${database}${suffix}`, { force: true });
  }
  if (!existsSync(database)) writeFileSync(marker(folder), '', { mode: 0o600 });
}

/** To be called when a server answers, before anyone is told its address. */
export function databaseIsComplete(folder: string): void {
  rmSync(marker(folder), { force: true });
}

function marker(folder: string): string {
  return join(folder, 'temporal.incomplete');
}
