import type { ApprovalStore } from './approvals/approval-store.ts';
import type { ArtifactStore } from './artifacts/artifact-store.ts';
import type { BlobStore } from './artifacts/blob-store.ts';
import type { CorpusStore } from './corpora/corpus-store.ts';
import type { CredentialStore } from './credentials/credential-store.ts';
import type { StoreClock } from './engine/store-clock.ts';
import type { JobStore } from './jobs/job-store.ts';
import type { KeyStore } from './keys/key-store.ts';
import type { LiveFeed } from './live/live-feed.ts';
import type { MemoryStore } from './memories/memory-store.ts';
import type { MessageStore } from './messages/message-store.ts';
import type { NoticeStore } from './notices/notice-store.ts';
import type { SessionStore } from './sessions/session-store.ts';
import type { TurnStore } from './turns/turn-store.ts';

/**
 * The store of Holdfast, by nouns. Every write carries a dedupe key: repeating one changes nothing and returns what was
 * recorded first.
 *
 * @throws Fenced, StoreBehindHistory, StoreUnavailable, MessageConflict, Unstorable, StoreFailed
 */
export interface Store extends StoreClock {
  readonly turns: TurnStore;
  readonly sessions: SessionStore;
  readonly messages: MessageStore;
  readonly approvals: ApprovalStore;
  readonly jobs: JobStore;
  readonly credentials: CredentialStore;
  readonly notices: NoticeStore;
  readonly keys: KeyStore;
  readonly artifacts: ArtifactStore;
  readonly blobs: BlobStore;
  readonly memories: MemoryStore;
  readonly corpora: CorpusStore;
  readonly live: LiveFeed;
  close(): Promise<void>;
}
