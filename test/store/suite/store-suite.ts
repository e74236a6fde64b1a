import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { appendedEventSuite } from './appended-events.ts';
import { approvalSuite } from './approvals.ts';
import { auditSuite } from './audit.ts';
import { callbackEventSuite } from './callback-events.ts';
import { callSuite } from './calls.ts';
import { concurrencySuite } from './concurrency.ts';
import { contentSuite } from './content.ts';
import { endingSuite } from './endings.ts';
import { forkSuite } from './forks.ts';
import { healingSuite } from './healing.ts';
import { inboxSuite } from './inbox.ts';
import { inboxModelSuite } from './inbox-model.ts';
import { inboxUploadSuite } from './inbox-uploads.ts';
import { mediaSuite } from './media.ts';
import { mergedResponseSuite } from './merged-responses.ts';
import { noticeSuite } from './notices.ts';
import { peekSuite } from './peek.ts';
import { raceSuite } from './races.ts';
import { repeatSuite } from './repeats.ts';
import { retentionSuite } from './retention.ts';
import { retrySuite } from './retry.ts';
import { retrySiblingSuite } from './retry-siblings.ts';
import { retryStateSuite } from './retry-state.ts';
import { rewindSuite } from './rewind.ts';
import { schemaSuite } from './schema.ts';
import { sessionSuite } from './sessions.ts';
import { stateSuite } from './state.ts';
import { stepSuite } from './steps.ts';
import { usageSuite } from './usage.ts';

/** What every store promises, whichever PostgreSQL is behind it. */
export function storeSuite(name: string, open: () => Promise<PostgresStore>): void {
  describe(name, () => {
    let opened: PostgresStore;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    const store = () => opened;

    describe('schema', () => schemaSuite(store));
    describe('steps', () => stepSuite(store));
    describe('calls', () => callSuite(store));
    describe('callback events', () => callbackEventSuite(store));
    describe('media and code', () => mediaSuite(store));
    describe('merged responses', () => mergedResponseSuite(store));
    describe('peek', () => peekSuite(store));
    describe('notices', () => noticeSuite(store));
    describe('endings', () => endingSuite(store));
    describe('healing', () => healingSuite(store));
    describe('state', () => stateSuite(store));
    describe('content', () => contentSuite(store));
    describe('sessions', () => sessionSuite(store));
    describe('appended events', () => appendedEventSuite(store));
    describe('rewind', () => rewindSuite(store));
    describe('audit', () => auditSuite(store));
    describe('retry', () => retrySuite(store));
    describe('siblings of a retried call', () => retrySiblingSuite(store));
    describe('state of a retry', () => retryStateSuite(store));
    describe('retention', () => retentionSuite(store));
    describe('forks', () => forkSuite(store));
    describe('usage', () => usageSuite(store));
    describe('repeats', () => repeatSuite(store));
    describe('inbox', () => inboxSuite(store));
    describe('inbox uploads', () => inboxUploadSuite(store));
    describe('inbox model', () => inboxModelSuite(store));
    describe('approvals', () => approvalSuite(store));
    describe('races', () => raceSuite(store));
    describe('concurrency', () => concurrencySuite(store));
  });
}
