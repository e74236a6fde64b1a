import type { JobMessage } from '../protocol/job.ts';
import type { Database } from './engine/database.ts';
import type { JobNews } from './jobs/job-row.ts';
import type { EndedJob, EndJob, JobRow, JobStore, ListJobs, NewJob } from './jobs/job-store.ts';
import { findJob, findJobAnswer, jobDelivery, listJobs } from './jobs/jobs-read.ts';
import {
  awaitJob,
  detachJob,
  endJob,
  keepJobAnswer,
  openJob,
  parkJob,
  progressJob,
  recordPoll,
  type WrittenJob,
} from './jobs/jobs-write.ts';
import type { Notices } from './live/notices.ts';
import { PostgresApprovals } from './postgres-approvals.ts';
import type { SessionNames } from './sessions/session-names.ts';

/** What the store knows of jobs. */
export class PostgresJobs extends PostgresApprovals implements JobStore {
  readonly #database: Database;
  readonly #notices: Notices;

  constructor(database: Database, notices: Notices) {
    super(database, notices);
    this.#database = database;
    this.#notices = notices;
  }

  async openJob(job: NewJob): Promise<JobRow> {
    return this.#told(await openJob(this.#database, job));
  }

  async parkJob(park: Parameters<JobStore['parkJob']>[0]): Promise<JobRow | undefined> {
    const parked = await parkJob(this.#database, park);
    return parked && this.#told(parked);
  }

  async detachJob(detach: Parameters<JobStore['detachJob']>[0]): Promise<JobRow> {
    return this.#told(await detachJob(this.#database, detach));
  }

  awaitJob(wait: Parameters<JobStore['awaitJob']>[0]): Promise<JobRow | undefined> {
    return awaitJob(this.#database, wait);
  }

  keepJobAnswer(job: { jobId: string }, message: JobMessage): Promise<void> {
    return keepJobAnswer(this.#database, job, message);
  }

  findJobAnswer(names: SessionNames, message: JobMessage): Promise<string | undefined> {
    return findJobAnswer(this.#database, names, message);
  }

  async endJob(end: EndJob): Promise<EndedJob> {
    const { first, repeated, ...written } = await endJob(this.#database, end);
    return { first, repeated, job: this.#told(written) };
  }

  async progressJob(
    progress: Parameters<JobStore['progressJob']>[0],
  ): Promise<{ job: JobRow; tells: boolean }> {
    const { tells, ...written } = await progressJob(this.#database, progress);
    return { job: this.#told(written), tells };
  }

  recordPoll(poll: Parameters<JobStore['recordPoll']>[0]): Promise<JobRow> {
    return recordPoll(this.#database, poll);
  }

  findJob(jobId: string): Promise<JobRow | undefined> {
    return findJob(this.#database, jobId);
  }

  listJobs(list: ListJobs = {}): Promise<JobRow[]> {
    return listJobs(this.#database, list);
  }

  jobDelivery(job: Parameters<JobStore['jobDelivery']>[0]): ReturnType<JobStore['jobDelivery']> {
    return jobDelivery(this.#database, job);
  }

  #told({ job, changed }: WrittenJob): JobRow {
    if (changed) this.tellJobs(job.session, [job]);
    return job;
  }

  /** To followers. */
  protected tellJobs(session: string, news: readonly JobNews[]): void {
    for (const { runKey, callKey, tool, jobId, status, mode, progress } of news) {
      this.#notices.tell({
        type: 'job',
        session,
        runKey,
        callKey,
        tool,
        jobId,
        status,
        mode,
        ...(progress ? { progress } : {}),
      });
    }
  }
}
