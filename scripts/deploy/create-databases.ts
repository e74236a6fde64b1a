import { readFileSync } from 'node:fs';
import pg from 'pg';

const GETENV = /^\\getenv (\w+) (\w+)$/gm;

/**
 * Runs a file of SQL as psql does, of whose own language it knows what the file uses: `\getenv`, and `:'name'`.
 *
 * @throws Error for a variable that isn't there.
 */
export async function runSqlFile(file: string, url: string, env: Record<string, string>): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const values = new Map(
    [...text.matchAll(GETENV)].map(([, name = '', variable = '']) => [name, env[variable]]),
  );
  const sql = text.replace(GETENV, '').replace(/:'(\w+)'/g, (_whole, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`${file}: :'${name}' has no value`);
    return pg.escapeLiteral(value);
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // One by one: a database can't be made inside the transaction that several statements in one query are.
    for (const statement of statementsOf(sql)) await client.query(statement);
  } finally {
    await client.end();
  }
}

function statementsOf(sql: string): string[] {
  const withoutComments = sql.replace(/^--.*$/gm, '');
  return withoutComments.split(/;\s*$/m).filter((statement) => statement.trim() !== '');
}
