type Sqlite = typeof import('node:sqlite');

let loaded: Sqlite | undefined;

/**
 * `node:sqlite` without the "experimental feature" warning that Node 22 prints when it is loaded. The load is
 * synchronous, so that no other warning can fall into the moment in which this one is held back.
 */
export function loadSqlite(): Sqlite {
  if (loaded) return loaded;
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (/^SQLite is an experimental feature/.test(String(warning))) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    loaded = process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
  return loaded;
}
