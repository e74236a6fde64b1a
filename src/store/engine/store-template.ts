import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { STORE_SCHEMA } from '../schema/store-schema.ts';
import { StoreInUse, StoreUnavailable } from '../store-errors.ts';
import { makeFolder } from './make-folder.ts';

/** Milliseconds between looks whether another process has made it. */
const LOOK_INTERVAL = 100;
const DIGEST_CHARACTERS = 16;

export interface TemplateMaking {
  onProgress: (line: string) => void;
  /** Makes a migrated store in `<draft>/store`, and moves its data to `publishTo` while it has the folder's lock. */
  make(draft: string, publishTo: string): Promise<void>;
}

/**
 * Data of a store that is migrated and empty, in the folder of templates: made once for each version of PGlite and of the schema,
 * by one process at a time.
 *
 * @throws StoreUnavailable where that folder can't be used
 */
export async function obtainTemplate(
  templates: string,
  { onProgress, make }: TemplateMaking,
): Promise<string> {
  const folder = resolve(templates);
  const data = join(folder, `store-${pgliteVersion()}-${schemaDigest()}`);
  if (existsSync(data)) return data;
  makeTemplates(folder);
  for (let waits = 0; !existsSync(data); waits += 1) {
    const made = await make(`${data}.new`, data).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StoreInUse) return false;
        throw error;
      },
    );
    if (made && !existsSync(data)) throw new StoreUnavailable(`a store could not be kept in ${folder}`);
    if (made) break;
    if (waits === 0) onProgress('waiting for another process that prepares the first store');
    await setTimeout(LOOK_INTERVAL);
  }
  return data;
}

function makeTemplates(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw new StoreUnavailable(
      `the folder of templates ${folder} can't be made: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/** Its data are of no use to another version. */
function pgliteVersion(): string {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const { version } = JSON.parse(readFileSync(join(dirname(entry), '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}

function schemaDigest(): string {
  const hash = createHash('sha256');
  for (const { version, sql } of STORE_SCHEMA.changes) hash.update(`${version}\0${sql}\0`);
  for (const [name, sql] of STORE_SCHEMA.functions) hash.update(`${name}\0${sql}\0`);
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS);
}
