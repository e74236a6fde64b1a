import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { auditSuite } from './audit.ts';
import { callSuite } from './calls.ts';
import { concurrencySuite } from './concurrency.ts';
import { contentSuite } from './content.ts';
import { forkSuite } from './forks.ts';
import { healingSuite } from './healing.ts';
import { retrySuite } from './retry.ts';
import { rewindSuite } from './rewind.ts';
import { schemaSuite } from './schema.ts';
import { sessionSuite } from './sessions.ts';
import { stateSuite } from './state.ts';
import { stepSuite } from './steps.ts';

/** What every store promises, whichever PostgreSQL is behind it. */
export function storeSuite(name: string, open: () => Promise<PostgresStore>): void {
  describe(name, () => {
    let opened: PostgresStore;
    beforeAll(async () => {
      opened = await open();
    }, 60_000);
    afterAll(() => opened.close());
    const store = () => opened;

    describe('schema', () => schemaSuite(store));
    describe('steps', () => stepSuite(store));
    describe('calls', () => callSuite(store));
    describe('healing', () => healingSuite(store));
    describe('state', () => stateSuite(store));
    describe('content', () => contentSuite(store));
    describe('sessions', () => sessionSuite(store));
    describe('rewind', () => rewindSuite(store));
    describe('audit', () => auditSuite(store));
    describe('retry', () => retrySuite(store));
    describe('forks', () => forkSuite(store));
    describe('concurrency', () => concurrencySuite(store));
  });
}
