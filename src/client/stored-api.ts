import { ArtifactBytes } from '../artifacts/artifact-bytes.ts';
import { type ListApprovals, listApprovals } from '../contract/approvals.ts';
import {
  type AuditRow,
  type AuditVerification,
  getAudit,
  getAuditById,
  verifyAudit,
} from '../contract/audit.ts';
import {
  getJob,
  type JobRow,
  type JobSpeaker,
  type ListJobs,
  listJobs,
  type OwnJob,
} from '../contract/jobs.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import {
  type ForkSession,
  forkSession,
  type GetSession,
  getSession,
  type ListedSessions,
  type ListSessions,
  listOfSessions,
  type Session,
} from '../contract/sessions.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { verifyJobToken } from '../jobs/job-token.ts';
import type { JobClaims } from '../store/jobs/job-store.ts';
import type { Store } from '../store/store.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import type { Approvals, WhichAudit, WhichRequest } from './approvals/approvals.ts';
import { auditedSessions, readAudits, verifyAudits } from './approvals/audit-of-tree.ts';
import { findRequest, namedRequest } from './approvals/find-request.ts';
import { shownAudit, shownRequest } from './approvals/shown-request.ts';
import type { Artifacts } from './artifacts/artifacts.ts';
import { ClientArtifacts } from './artifacts/client-artifacts.ts';
import { checkedFields, checkedInput } from './checked-input.ts';
import { checkedJob } from './jobs/checked-job.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { Memories } from './memories/memories.ts';
import { StoredMemories } from './memories/stored-memories.ts';

/** The operations of a client that need only the store. */
export interface StoredApi {
  sessions: Pick<StoredSessions, 'get' | 'list' | 'fork'>;
  approvals: Pick<Approvals, 'list' | 'get' | 'audit' | 'verifyAudit'>;
  jobs: Pick<Jobs, 'list' | 'get'>;
  artifacts: Artifacts;
  memories: Memories;
}

/**
 * Loads nothing of Temporal: commands that read the store start in half the time.
 *
 * @param credentialKeys of the gateway's signatures and of job tokens.
 */
export function storedApi(store: Store, credentialKeys: CredentialKeys | undefined): StoredApi {
  return {
    sessions: new StoredSessions(store),
    approvals: new StoredApprovals(store, credentialKeys),
    jobs: new StoredJobs(store, credentialKeys),
    artifacts: new ClientArtifacts(() => ({ store, bytes: ArtifactBytes.of(store.blobs) })),
    memories: new StoredMemories(() => store),
  };
}

export class StoredSessions {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async get(get: GetSession): Promise<Session | undefined> {
    return await this.#store.sessions.get(checkedInput(getSession, get).input);
  }

  async list(list: ListSessions): Promise<ListedSessions> {
    return await this.#store.sessions.list(checkedInput(listOfSessions(list), list).input);
  }

  async fork(fork: ForkSession): Promise<Session> {
    return await this.#store.sessions.fork(checkedInput(forkSession, fork).input);
  }
}

export class StoredApprovals {
  readonly #store: Store;
  readonly #credentialKeys: CredentialKeys | undefined;

  constructor(store: Store, credentialKeys: CredentialKeys | undefined) {
    this.#store = store;
    this.#credentialKeys = credentialKeys;
  }

  async list(list: ListApprovals = {}): Promise<ApprovalRow[]> {
    return (await this.#store.approvals.list(checkedInput(listApprovals, list).input)).map(shownRequest);
  }

  async get(which: WhichRequest): Promise<ApprovalRow | undefined> {
    const method = 'approvals.get';
    const row = await findRequest(this.#store, namedRequest(which, method), method);
    return row && shownRequest(row);
  }

  async audit(which: WhichAudit): Promise<AuditRow[]> {
    const method = getAudit.name;
    const session = await sessionIdOf(this.#store, which, method);
    const sessions = await auditedSessions(this.#store, which, session);
    const rows = await readAudits(sessions, (id) => shownAudit(this.#store, id));
    if (rows.length === 0) throw noAudit(method, which);
    return rows;
  }

  async verifyAudit(which: WhichAudit): Promise<AuditVerification> {
    const method = verifyAudit.name;
    const session = await sessionIdOf(this.#store, which, method);
    const sessions = await auditedSessions(this.#store, which, session);
    const audited = await verifyAudits(this.#store, sessions, this.#credentialKeys);
    if (audited.rows === 0 && audited.ok) throw noAudit(method, which);
    return audited;
  }
}

export class StoredJobs {
  readonly #store: Store;
  readonly #credentialKeys: CredentialKeys | undefined;

  constructor(store: Store, credentialKeys: CredentialKeys | undefined) {
    this.#store = store;
    this.#credentialKeys = credentialKeys;
  }

  async list(list: ListJobs = {}): Promise<JobRow[]> {
    return await this.#store.jobs.list(checkedInput(listJobs, list).input);
  }

  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    const claims = await this.claimsOf(jobId, checkedJob(getJob, jobId, speaker).caller);
    const job = await this.#store.jobs.find(jobId);
    return job === undefined || claims === undefined ? job : ownJob(job);
  }

  /** The job that the token proves; undefined for an operator. @throws JobTokenRefused */
  async claimsOf(jobId: string, { token }: JobSpeaker): Promise<JobClaims | undefined> {
    if (token === undefined) return undefined;
    return await verifyJobToken(this.#credentialKeys, token, jobId, await this.#store.now());
  }
}

/** The store's id of a session, which its audit is kept under for ever. */
async function sessionIdOf(store: Store, which: WhichAudit, method: string): Promise<string> {
  if ('session' in which) return checkedFields(getAuditById.input, which, method).session;
  const found = await store.sessions.find(checkedFields(getAudit.input, which, method));
  if (found === undefined) throw noAudit(method, which);
  return found.session;
}

function noAudit(method: string, which: WhichAudit): SessionNotFound {
  const what = 'session' in which ? which.session : `${which.app}/${which.userId}/${which.sessionId}`;
  return new SessionNotFound(
    `${method}: there is no session ${what}: one that was deleted is named by the store's id of it, { session }`,
  );
}

/** The view of a job for the service that does it. */
function ownJob({ jobId, status, progress, outcome }: OwnJob): OwnJob {
  return {
    jobId,
    status,
    ...(progress === undefined ? {} : { progress }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}
