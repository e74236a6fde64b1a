import type {
  cancelJob,
  completeJob,
  failJob,
  JobEnder,
  JobOutcome,
  JobRow,
  JobStatus,
  ListJobs,
} from '../../contract/jobs.ts';
import type { InputOf } from '../../contract/operation.ts';
import type { DeliveredJob, JobMessage } from '../../protocol/job.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** The activity that waits for a job: the job's end completes it. */
export type JobAddress = NonNullable<JobRow['address']>;

/** A job as its call knows it. */
export interface NewJob {
  jobId: string;
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  tool: string;
  agent: string;
  address: JobAddress;
  /** Milliseconds from the row's first write until its deadline. */
  deadline: number;
}

/** The claims of a job's token: enough to write its row where the call has not come to do so. */
export interface JobClaims
  extends Pick<NewJob, 'jobId' | 'session' | 'runKey' | 'callKey' | 'callId' | 'tool' | 'agent'> {
  /** Milliseconds since the epoch. */
  until: number;
}

/** Whatever callers say of an end is kept beside its outcome, by the names of their inputs' fields. */
export interface EndJob
  extends Omit<InputOf<typeof completeJob>, 'result'>,
    Omit<InputOf<typeof failJob>, 'error'>,
    InputOf<typeof cancelJob> {
  status: Exclude<JobStatus, 'running'>;
  outcome: JobOutcome;
  by: JobEnder;
  /** The operator's name. */
  person?: string;
  /** Writes the row where there is none. */
  claims?: JobClaims;
}

/** `first`: the job has ended by this, or by an equal outcome before, which `repeated` says. */
export interface EndReceipt {
  first: boolean;
  repeated: boolean;
  job: JobRow;
}

/** A job that a message has ended, or has an update of. */
export interface JobOfMessage {
  jobId: string;
  address?: JobAddress;
  ended: boolean;
}

/**
 * Jobs of long-running calls. The first outcome wins in the row: the end of a job writes it, then tells the workflow that waits.
 * Every write may be repeated. A job's `status` says whether it runs, and its `mode` how a running job is waited for:
 *
 *     (none) ──────────▶ running, started: `open`; `end` and `progress` by claims, where a caller comes before the call
 *     running, started ▶ running, parked: `park`
 *     running, parked ▶ running, started: `resume`
 *     running, started or parked ▶ running, detached: `detach`
 *     running ─────────▶ completed | failed | cancelled | timed_out: `end`, or the settled outcome of its call
 *
 * An ended job stays as it is; its row only notes that its session was told.
 */
export interface JobStore {
  /** Writes a job's row, or its address where the row is there. Gives the row as it is by then, which may have ended. */
  open(job: NewJob): Promise<JobRow>;
  /**
   * The tool has returned without an outcome: its attempt ends and is no unknown one. `intermediate` is what it returned. Gives the
   * row, which may have ended meanwhile.
   *
   * @returns undefined where the attempt isn't the call's newest, or the call is settled, or its turn has ended.
   */
  park(park: {
    session: string;
    jobId: string;
    attempt: number;
    intermediate?: Record<string, unknown>;
  }): Promise<JobRow | undefined>;
  /** The tool of a parked job is to run again, because a person is to be asked. Gives the row, which may have ended meanwhile. */
  resume(resume: { session: string; jobId: string }): Promise<JobRow>;
  /** The model is told `intermediate`, and the job goes on without the turn. */
  detach(detach: { session: string; jobId: string; intermediate: Record<string, unknown> }): Promise<JobRow>;
  /** Sets the activity that waits for a job from now on, and gives the job's state. Undefined if there is no such job. */
  await(wait: { session: string; jobId: string; address: JobAddress }): Promise<JobRow | undefined>;
  /**
   * Ends a job; the first outcome counts.
   *
   * @throws HOLDFAST_UNKNOWN_JOB where there is no such job and no claims of one.
   */
  end(end: EndJob): Promise<EndReceipt>;
  /**
   * Records how far a job has got, or an update of its response. `tells`: the workflow that waits hasn't heard for a while, the
   * longer the older the job is (5 seconds, or a tenth of its age).
   *
   * @throws HOLDFAST_UNKNOWN_JOB
   */
  progress(progress: {
    jobId: string;
    value?: number;
    message?: string;
    intermediate?: Record<string, unknown>;
    claims?: JobClaims;
  }): Promise<{ job: JobRow; tells: boolean }>;
  /** Counts a poll, unless the job has ended. Gives the row. */
  recordPoll(poll: { session: string; jobId: string; error?: string }): Promise<JobRow>;
  find(jobId: string): Promise<JobRow | undefined>;
  /** Oldest first, unless told otherwise. */
  list(list?: ListJobs): Promise<JobRow[]>;
  /**
   * Whether a session is to be told the outcome of a detached job. `told`: it was, by a message, or by the call where that was cut
   * off. `open`: the call is yet to be settled, and tells more. `hidden`: a rewind hides the call. `deleted`: the session is gone.
   */
  delivery(job: { session: string; jobId: string }): Promise<'due' | NonNullable<DeliveredJob['reason']>>;
  /**
   * Keeps that a message tells a job's turn of it, so that the message gives that turn's result for ever. Changes nothing where the
   * store has no such job.
   */
  keepAnswer(job: { jobId: string }, message: JobMessage): Promise<void>;
  /**
   * The newest invocation of the turn that a message told of its jobs: undefined while that turn runs, and where the message has
   * another content or said more than that.
   */
  findAnswer(names: SessionNames, message: JobMessage): Promise<string | undefined>;
}
