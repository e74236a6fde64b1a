import type { JobProgress, JobStatus } from '../contract/jobs.ts';
import type { ActingAgent } from './agent-run.ts';
import type { ToolSchedule } from './run-terms.ts';
import type { Carried } from './sizes.ts';

/** A job whose tool has returned, as far as a workflow needs it; all else is in the store's row of it. Durations in milliseconds. */
export interface AwaitedJob {
  jobId: string;
  /** Time until its deadline. */
  timeLeft: number;
  /** One look at it: an attempt of the activity that waits. */
  look: Pick<ToolSchedule, 'startToClose'> & {
    /** Absent where no user code runs meanwhile. */
    heartbeat?: number;
  };
}

/** Task of a call's activity that attends to the call's job and doesn't run the tool. */
export type JobTask =
  /** Looks whether the job has ended; polls where its tool does. */
  | { do: 'wait'; jobId: string; detached?: true }
  /**
   * The wait is over. `ended`: the outcome is in the store. Otherwise it ends by this, unless it has ended before, and its tool's
   * hooks are told. A call that waits is settled by it.
   */
  | {
      do: 'end';
      jobId: string;
      detached?: true;
      why: 'ended' | 'timeout' | 'cancelled' | 'lost';
      /** For a cancellation: the text for the model. */
      text?: string;
    };

/** Result of `do: 'wait'`, with which the end of a job completes that activity: the outcome is in the store. */
export interface JobEnded {
  v: number;
  ended: string;
  /** The job goes on: first its tool runs again, because a person is to be asked. */
  resumes?: true;
}

/** Result of `do: 'end'` for a job that no call waits for. */
export interface EndedDetachedJob {
  v: number;
  status: Exclude<JobStatus, 'running'>;
  /** For operators. */
  gist: string;
}

/** A job that a turn waits for, in the answer of the query `status`. */
export interface WaitingJob {
  jobId: string;
  callKey: string;
  callId: string;
  tool: string;
  progress?: JobProgress;
  /** Milliseconds since the epoch. */
  since: number;
  /** Milliseconds since the epoch: its deadline. */
  until: number;
}

/** Start arguments of the workflow `toolJob`: a job that outlives its turn. */
export interface ToolJobStart extends ActingAgent {
  v: number;
  app: string;
  userId: string;
  sessionId: string;
  /** The store's internal id of the session. */
  session: string;
  /** The workflow id of the session's turns. */
  turnWorkflowId: string;
  agent: string;
  runKey: string;
  invocationId: string;
  callKey: string;
  callId: string;
  tool: string;
  args: Carried<Record<string, unknown>>;
  summary?: string;
  job: AwaitedJob;
  schedule: ToolSchedule;
  /** Priority of the turn. */
  priority?: number;
}

/** Answer of the query `status` of `toolJob`, and its result once it has ended. */
export interface ToolJobStatus extends WaitingJob {
  v: number;
  status: JobStatus;
  /** Whether the session was told of the outcome; absent until then. */
  delivered?: boolean;
}

/**
 * Input of `holdfast.recordJob`: what a message to the running turn says of a job. The activity fails with {@link UNKNOWN_JOB}, not to be
 * tried again, where the store has no such job: the call may yet begin it.
 */
export interface RecordJobInput {
  v: number;
  session: string;
  callKey: string;
  jobId: string;
  response: Record<string, unknown>;
  /** An update: the job goes on. */
  willContinue?: true;
  /** The message that says it. */
  message?: JobMessage;
}

/** A message that tells of jobs, as it is known again where it is sent again. */
export interface JobMessage {
  messageId: string;
  /** Digest of the message, without the parts that answer requests. */
  digest: string;
  /** Digest of the message's other parts, which are delivered as a message of their own. */
  rest?: string;
}

/** Input of `holdfast.deliverJob`: tells a session the outcome of its detached job. */
export interface DeliverJobInput extends ActingAgent {
  v: number;
  app: string;
  userId: string;
  sessionId: string;
  session: string;
  turnWorkflowId: string;
  callKey: string;
  jobId: string;
}

export interface DeliveredJob {
  v: number;
  delivered: boolean;
  /** Why not. */
  reason?: 'told' | 'open' | 'hidden' | 'deleted';
}

/**
 * Message to the session of a root about the end of a job that an agent below it began: the root's transcript doesn't have that call.
 *
 * @param response left out where it may not stand in a history.
 */
export function textOfJobBelow(
  { tool, agent, status }: { tool: string; agent: string; status: JobStatus },
  response?: Record<string, unknown>,
): string {
  const come = response === undefined ? '' : `: ${JSON.stringify(response)}`;
  return `The job that agent ${JSON.stringify(agent)} began by calling ${JSON.stringify(tool)} has ended (${status})${come}`;
}

/** Message id under which a session is told the outcome of a detached job. */
export function jobMessageId(callKey: string): string {
  return `job:${callKey}`;
}
