import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checksumOf, type StoreSchema, signatureOf, versionOf } from '../../src/store/schema/store-schema.ts';

/** What a release had. */
export interface ReleasedSchema {
  release: string;
  /** Checksums of its changes of tables, by version. */
  changes: Record<string, string>;
  /** By name. */
  functions: Record<string, { checksum: string; signature: string }>;
}

/** Written by `npm run record:release`. */
export const RELEASED_FILE = fileURLToPath(new URL('./released-schemas.json', import.meta.url));

export function releasedSchemas(): ReleasedSchema[] {
  return JSON.parse(readFileSync(RELEASED_FILE, 'utf8'));
}

export function asReleased(release: string, { changes, functions }: StoreSchema): ReleasedSchema {
  return {
    release,
    changes: Object.fromEntries(changes.map(({ version, sql }) => [version, checksumOf(sql)])),
    functions: Object.fromEntries(
      [...functions].map(([name, sql]) => [name, { checksum: checksumOf(sql), signature: signatureOf(sql) }]),
    ),
  };
}

const STORE = fileURLToPath(new URL('../../src/store/', import.meta.url));
const SOURCES = globSync('**/*.ts', { cwd: STORE }).map((path) => readFileSync(STORE + path, 'utf8'));

function isCalledFromTypeScript(name: string): boolean {
  return SOURCES.some((source) => source.includes(`'${name}'`) || source.includes(`holdfast.${name}(`));
}

/** Where a schema breaks rules 1 to 3 of `src/store/schema/README.md`, seen from a release. */
export function breachesOf({ release, changes, functions }: ReleasedSchema, schema: StoreSchema): string[] {
  const now = asReleased('', schema);
  const rewritten = Object.keys(changes)
    .filter((version) => now.changes[version] !== changes[version])
    .map((version) => `change ${version} is not as ${release} has it`);
  const isNewer = versionOf(schema) > Math.max(...Object.keys(changes).map(Number));
  const unversioned = Object.keys({ ...functions, ...now.functions })
    .filter((name) => now.functions[name]?.checksum !== functions[name]?.checksum)
    .filter(() => !isNewer)
    .map((name) => `${name} differs from ${release}, and the version does not`);
  const called = Object.entries(functions)
    .filter(([name]) => isCalledFromTypeScript(name))
    .filter(([name, { signature }]) => now.functions[name]?.signature !== signature)
    .map(([name]) => `${name} is called by ${release} with other parameters, or for another result`);
  return [...rewritten, ...unversioned, ...called];
}
