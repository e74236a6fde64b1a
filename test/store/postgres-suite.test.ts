import { afterAll } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { storeSuite } from './suite/store-suite.ts';

// What a plan reads is checked: when the server looks at its tables of a few rows would decide how it reads them. Tests say when.
const server = await startPostgresServer({ settings: { autovacuum: 'off' } });
afterAll(() => server.close());

storeSuite('the store on PostgreSQL [store.postgres]', async () =>
  openStore({ url: await server.newDatabase() }),
);
