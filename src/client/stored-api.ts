import { ArtifactBytes } from '../artifacts/artifact-bytes.ts';
import type { Call } from '../contract/operation.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import type { Store } from '../store/store.ts';
import { Approvals } from './approvals/approvals.ts';
import { storedApprovals } from './approvals/stored-approvals.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { StoredBytes, storedArtifacts } from './artifacts/stored-artifacts.ts';
import { direct } from './call.ts';
import { Corpora } from './corpora/corpora.ts';
import { storedCorpora } from './corpora/stored-corpora.ts';
import { Jobs } from './jobs/jobs.ts';
import { storedJobs } from './jobs/stored-jobs.ts';
import { Memories } from './memories/memories.ts';
import { storedMemories } from './memories/stored-memories.ts';
import { Sessions } from './sessions/sessions.ts';
import { storedSessions } from './sessions/stored-sessions.ts';

/** The operations of a client that need only the store. */
export interface StoredApi {
  readonly call: Call;
  sessions: Pick<Sessions, 'get' | 'list' | 'fork'>;
  approvals: Pick<Approvals, 'list' | 'get' | 'audit' | 'verifyAudit'>;
  jobs: Pick<Jobs, 'list' | 'get'>;
  artifacts: Artifacts;
  memories: Memories;
  corpora: Corpora;
}

/**
 * Loads nothing of Temporal: commands that read the store start in half the time.
 *
 * @param credentialKeys of the gateway's signatures and of job tokens.
 */
export function storedApi(store: Store, credentialKeys: CredentialKeys | undefined): StoredApi {
  const call = direct(
    {
      ...storedJobs,
      ...storedApprovals,
      ...storedArtifacts,
      ...storedMemories,
      ...storedCorpora,
      ...storedSessions,
    },
    { store, credentialKeys },
  );
  return {
    call,
    sessions: new Sessions(call, () => Promise.reject(new TypeError('a retry needs Temporal'))),
    approvals: new Approvals(call),
    jobs: new Jobs(call),
    artifacts: new Artifacts(call, new StoredBytes(() => ({ store, bytes: ArtifactBytes.of(store.blobs) }))),
    memories: new Memories(call),
    corpora: new Corpora(call),
  };
}
