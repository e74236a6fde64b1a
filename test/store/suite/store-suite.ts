import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { answeredCallSuite } from './approvals/answered-calls.ts';
import { approvalListSuite } from './approvals/approval-lists.ts';
import { approvalModelSuite } from './approvals/approval-model.ts';
import { approvalSuite } from './approvals/approvals.ts';
import { endedRequestSuite } from './approvals/ended-requests.ts';
import { retriedRequestSuite } from './approvals/retried-requests.ts';
import { artifactSuite } from './artifacts/artifacts.ts';
import { blobSuite } from './artifacts/blobs.ts';
import { corpusSuite } from './corpora/corpora.ts';
import { credentialSuite } from './credentials/credentials.ts';
import { schemaSuite } from './engine/schema.ts';
import { endedJobSuite } from './jobs/ended-jobs.ts';
import { jobListSuite } from './jobs/job-lists.ts';
import { jobMessageSuite } from './jobs/job-messages.ts';
import { jobModelSuite } from './jobs/job-model.ts';
import { jobSuite } from './jobs/jobs.ts';
import { accessSuite } from './keys/access.ts';
import { pageSuite } from './keys/pages.ts';
import { noticeSuite } from './live/notices.ts';
import { channelSuite } from './messages/channels.ts';
import { inboxSuite } from './messages/inbox.ts';
import { inboxModelSuite } from './messages/inbox-model.ts';
import { inboxUploadSuite } from './messages/inbox-uploads.ts';
import { keptNoticeSuite } from './notices/kept-notices.ts';
import { appendedEventSuite } from './sessions/appended-events.ts';
import { auditSuite } from './sessions/audit.ts';
import { contentSuite } from './sessions/content.ts';
import { forkSuite } from './sessions/forks.ts';
import { retentionSuite } from './sessions/retention.ts';
import { retrySuite } from './sessions/retry.ts';
import { retrySiblingSuite } from './sessions/retry-siblings.ts';
import { retryStateSuite } from './sessions/retry-state.ts';
import { rewindSuite } from './sessions/rewind.ts';
import { sessionSuite } from './sessions/sessions.ts';
import { stateSuite } from './sessions/state.ts';
import { callbackEventSuite } from './turns/callback-events.ts';
import { callSuite } from './turns/calls.ts';
import { childSuite } from './turns/children.ts';
import { concurrencySuite } from './turns/concurrency.ts';
import { endingSuite } from './turns/endings.ts';
import { healingSuite } from './turns/healing.ts';
import { mediaSuite } from './turns/media.ts';
import { mergedResponseSuite } from './turns/merged-responses.ts';
import { modelLimitSuite } from './turns/model-limits.ts';
import { peekSuite } from './turns/peek.ts';
import { raceSuite } from './turns/races.ts';
import { rememberedSuite } from './turns/remembered.ts';
import { repeatSuite } from './turns/repeats.ts';
import { stepSuite } from './turns/steps.ts';
import { turnSlotSuite } from './turns/turn-slots.ts';
import { usageSuite } from './turns/usage.ts';

/** What every store promises, facet by facet, whichever PostgreSQL it has. */
export function storeSuite(name: string, open: () => Promise<PostgresStore>): void {
  describe(name, () => {
    let opened: PostgresStore;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());
    const store = () => opened;

    describe('engine', () => {
      describe('schema', () => schemaSuite(store));
    });

    describe('turns', () => {
      describe('steps', () => stepSuite(store));
      describe('calls', () => callSuite(store));
      describe('callback events', () => callbackEventSuite(store));
      describe('media and code', () => mediaSuite(store));
      describe('merged responses', () => mergedResponseSuite(store));
      describe('peek', () => peekSuite(store));
      describe('endings', () => endingSuite(store));
      describe('healing', () => healingSuite(store));
      describe('usage', () => usageSuite(store));
      describe('repeats', () => repeatSuite(store));
      describe('model limits', () => modelLimitSuite(store));
      describe('turn slots', () => turnSlotSuite(store));
      describe('children', () => childSuite(store));
      describe('what is remembered of runs', () => rememberedSuite(store));
      describe('races', () => raceSuite(store));
      describe('concurrency', () => concurrencySuite(store));
    });

    describe('sessions', () => {
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
    });

    describe('messages', () => {
      describe('what Slack sends', () => channelSuite(store));
      describe('inbox', () => inboxSuite(store));
      describe('inbox uploads', () => inboxUploadSuite(store));
      describe('inbox model', () => inboxModelSuite(store));
    });

    describe('approvals', () => {
      describe('approvals', () => approvalSuite(store));
      describe('lists of approvals', () => approvalListSuite(store));
      describe('answered calls', () => answeredCallSuite(store));
      describe('approval model', () => approvalModelSuite(store));
      describe('ended requests', () => endedRequestSuite(store));
      describe('retried requests', () => retriedRequestSuite(store));
    });

    describe('jobs', () => {
      describe('jobs', () => jobSuite(store));
      describe('messages of jobs', () => jobMessageSuite(store));
      describe('ended jobs', () => endedJobSuite(store));
      describe('lists of jobs', () => jobListSuite(store));
      describe('model of jobs', () => jobModelSuite(store));
    });

    describe('credentials', () => {
      describe('credentials', () => credentialSuite(store));
    });

    describe('notices', () => {
      describe('kept notices, and webhooks', () => keptNoticeSuite(store));
    });

    describe('keys', () => {
      describe('pages', () => pageSuite(store));
      describe('access', () => accessSuite(store));
    });

    describe('artifacts', () => {
      describe('versions', () => artifactSuite(store));
      describe('bytes', () => blobSuite(store));
    });

    describe('corpora', () => corpusSuite(store));

    describe('live', () => {
      describe('notices', () => noticeSuite(store));
    });
  });
}
