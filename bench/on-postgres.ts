import { resolve } from 'node:path';
import { startPostgresServer } from '../test/setup/postgres-server.ts';

/** Runs a bench on a PostgreSQL server of its own, which waits for the disk: `node bench/on-postgres.ts bench/turn.ts --quick`. */
const [program = ''] = process.argv.splice(2, 1);
const server = await startPostgresServer({ settings: { fsync: 'on' } });
try {
  process.env.HOLDFAST_STORE = await server.newDatabase();
  await import(resolve(program));
} finally {
  await server.close();
}
