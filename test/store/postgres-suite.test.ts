import { afterAll } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { storeSuite } from './suite/store-suite.ts';

const server = await startPostgresServer();
afterAll(() => server.close());

storeSuite('the store on PostgreSQL [store.postgres]', async () =>
  openStore({ url: await server.newDatabase() }),
);
