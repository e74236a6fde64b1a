import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openStore } from '../../src/store/open-store.ts';

const VARIABLE = 'HOLDFAST_TEST_STORE';
const SOURCES = fileURLToPath(new URL('../../src/store/', import.meta.url));
/** What an empty store's content depends on. */
const MAKERS = ['schema/*.ts', '*/*.sql', 'engine/{migrate,pglite-thread}.ts'];
const PGLITE = fileURLToPath(
  new URL('../../node_modules/@electric-sql/pglite/package.json', import.meta.url),
);
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url));

/**
 * Makes an empty embedded store for all test files, where the cache has none of these sources: to make one takes seconds of
 * a core, to copy one a moment. That and how a store is made where there is none is shown by the embedded store's own tests.
 */
export async function makeStore(): Promise<void> {
  const made = join(CACHE, `holdfast-store-${digestOfSources()}`);
  process.env[VARIABLE] = made;
  if (existsSync(made)) return;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, 'holdfast-store-new-'));
  await (await openStore({ folder: draft })).close();
  try {
    renameSync(draft, made);
  } catch (error) {
    // Another run was faster.
    if (!existsSync(made)) throw error;
    rmSync(draft, { recursive: true });
  }
}

/** Puts an empty embedded store into a folder, which may be missing, for `openStore` to find. */
export function putStore(folder: string): void {
  const made = process.env[VARIABLE];
  if (made === undefined) throw new Error(`${VARIABLE}: the global setup says there where the store is`);
  cpSync(join(made, 'store'), join(folder, 'store'), { recursive: true });
}

function digestOfSources(): string {
  const hash = createHash('sha256').update(readFileSync(PGLITE));
  for (const file of globSync(MAKERS, { cwd: SOURCES }).sort()) {
    hash.update(`${file}\n`).update(readFileSync(join(SOURCES, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
