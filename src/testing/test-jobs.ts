import type { Client } from '@temporalio/client';
import type { HoldfastClient } from '../client/holdfast-client.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { JobAnswer, JobRow } from '../contract/jobs.ts';
import { EXPIRE_JOB } from '../protocol/names.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';

/** A job by its id, or the only one that goes on in the session of a turn that was sent. */
export type TestJob = string | TurnHandle;

/** Ends jobs in place of the services that do them. */
export interface TestJobs {
  /**
   * Waits until a session has jobs that its tools have handed out, and gives those that go on, the oldest first.
   *
   * @throws Error where the turn ends first, and has none.
   * @example
   * const turn = await env.send('order the report');
   * const [job] = await env.jobs(turn);
   */
  jobs(turn: TurnHandle): Promise<JobRow[]>;
  /**
   * Ends a job with its result, as its service does; of a turn, once it has one.
   *
   * @throws what `client.jobs.complete` throws.
   */
  completeJob(job: TestJob, result: unknown): Promise<JobAnswer>;
  /** Ends a job with an error; of a turn, once it has one. */
  failJob(job: TestJob, error: string): Promise<JobAnswer>;
  /** Cancels a job; of a turn, once it has one. */
  cancelJob(job: TestJob, reason?: string): Promise<JobAnswer>;
  /** Lets the time of a job be over now; of a turn's job, as soon as the turn has one. */
  expireJob(job: TestJob): Promise<void>;
}

interface Setting {
  client: HoldfastClient;
  temporal: Client;
  /** Undefined for a turn of another environment. */
  sessionOf: (turn: TurnHandle) => SessionNames | undefined;
}

/** Between looks, milliseconds. */
const PAUSE = 20;
/** A worker is up in a test, however slow the machine; milliseconds. */
const PATIENCE = 60_000;

export function testJobs({ client, temporal, sessionOf }: Setting): TestJobs {
  const jobs = async (turn: TurnHandle): Promise<JobRow[]> => {
    const session = sessionOf(turn);
    if (session === undefined) {
      throw new Error('jobs: expected a turn of a session that `run` or `send` of this environment began');
    }
    const stop = new AbortController();
    const result = turn.result({ signal: stop.signal });
    let end: string | undefined;
    result.then(
      ({ status, error }) => {
        end = error === undefined ? status : `${status}: ${error.code}: ${error.message}`;
      },
      (error: unknown) => {
        end = String(error);
      },
    );
    try {
      for (;;) {
        const ended = end;
        const running = (await client.jobs.list(session)).filter(({ mode }) => mode !== 'started');
        if (running.length > 0) return running;
        if (ended !== undefined) throw new Error(`the turn has no job that goes on: it has ended, ${ended}`);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    } finally {
      stop.abort();
    }
  };
  const idOf = async (job: TestJob): Promise<string> => {
    if (typeof job === 'string') return job;
    const running = await jobs(job);
    const [only] = running;
    if (only !== undefined && running.length === 1) return only.jobId;
    const ids = running.map(({ jobId, tool }) => `${jobId} (${tool})`).join(', ');
    throw new Error(`the session has ${running.length} jobs that go on, name one: ${ids}`);
  };
  return {
    jobs,
    completeJob: async (job, result) => await client.jobs.complete(await idOf(job), { result }),
    failJob: async (job, error) => await client.jobs.fail(await idOf(job), { error }),
    cancelJob: async (job, reason) =>
      await client.jobs.cancel(await idOf(job), reason === undefined ? {} : { reason }),
    async expireJob(job) {
      const jobId = await idOf(job);
      const deadline = Date.now() + PATIENCE;
      for (;;) {
        const workflowId = (await client.jobs.get(jobId))?.address?.workflowId;
        if (workflowId === undefined) throw new Error(`there is no job ${jobId}, or nobody waits for it`);
        try {
          // By its newest run: a session may have gone on in another one.
          await temporal.workflow.getHandle(workflowId).executeUpdate<void, [object]>(EXPIRE_JOB, {
            args: [{ jobId }],
          });
          return;
        } catch (error) {
          // A workflow waits for a job a moment after its tool has handed it out.
          if (Date.now() > deadline) throw error;
          if ((await client.jobs.get(jobId))?.status !== 'running') throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    },
  };
}
