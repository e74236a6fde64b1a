import { activityInfo, CompleteAsyncError } from '@temporalio/activity';
import { ActivityNotFoundError, type Client } from '@temporalio/client';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { JobReceipt, JobStatus } from '../../src/contract/jobs.ts';
import type {
  AwaitedJob,
  DeliveredJob,
  DeliverJobInput,
  EndedDetachedJob,
  JobEnded,
  JobTask,
  RecordJobInput,
} from '../../src/protocol/job.ts';
import { UNKNOWN_JOB } from '../../src/protocol/names.ts';
import type { ToolCallResult } from '../../src/protocol/step.ts';

/** What a call's tool does that begins a job. */
export interface ScriptedJob extends Partial<Omit<AwaitedJob, 'jobId'>> {
  /** The model is told something, and the job goes on without the turn. */
  detached?: true;
  /** A look that finds nothing fails, and there is another one so much later. Defaults to one that stays open. */
  looksEvery?: number;
  /** Nobody knows before the tool has run that it has a job. */
  undeclared?: true;
}

interface Row {
  status: JobStatus;
  response?: Record<string, unknown>;
  update?: Record<string, unknown>;
  address?: { workflowId: string; runId: string; activityId: string };
  looks: number;
  settled: Record<string, unknown>[];
  delivered: Record<string, unknown>[];
}

/** The jobs table of a script: the first outcome wins, then whoever waits is told. */
export class ScriptedJobs {
  readonly rows = new Map<string, Row>();
  readonly #temporal: Client;

  constructor(temporal: Client) {
    this.#temporal = temporal;
  }

  row(jobId: string): Row {
    const row = this.rows.get(jobId);
    if (row === undefined) throw new Error(`no job ${jobId}`);
    return row;
  }

  open(jobId: string): Row {
    const row = this.rows.get(jobId) ?? { status: 'running', looks: 0, settled: [], delivered: [] };
    this.rows.set(jobId, row);
    return row;
  }

  /** What the tool's own run comes to. */
  began(jobId: string, script: ScriptedJob): ToolCallResult {
    const { timeLeft = 600_000, look = { startToClose: 60_000 }, detached } = script;
    const row = this.open(jobId);
    if (row.status !== 'running') return this.#settle(row);
    const job = { jobId, timeLeft, look };
    if (detached) return { v: 1, response: { value: { status: 'pending' } }, detached: job };
    return { v: 1, parks: job };
  }

  /** Whether this ended it; others are told how it has ended, too. */
  async finish(jobId: string, status: Exclude<JobStatus, 'running'>, response: Row['response'] = {}) {
    const row = this.row(jobId);
    const isFirst = this.#end(row, status, response);
    const { address } = row;
    if (address === undefined) return isFirst;
    const ended: JobEnded = { v: 1, ended: jobId };
    try {
      await this.#temporal.activity.complete(address, ended);
    } catch (error) {
      if (!(error instanceof ActivityNotFoundError)) throw error;
    }
    return isFirst;
  }

  run(task: JobTask, script: ScriptedJob | undefined) {
    const row = this.row(task.jobId);
    return task.do === 'wait' ? this.#look(row, task.jobId, script) : this.#carryOut(row, task);
  }

  async record({ jobId, callKey, response, willContinue }: RecordJobInput): Promise<JobReceipt> {
    const row = this.rows.get(jobId);
    if (row === undefined) throw ApplicationFailure.nonRetryable(`there is no job ${jobId}`, UNKNOWN_JOB);
    const receipt = { v: 1, jobId, callKey };
    if (willContinue) {
      if (row.status !== 'running') return { ...receipt, status: 'known', job: row.status };
      row.update = response;
      return { ...receipt, status: 'updated', job: 'running' };
    }
    const isFirst = await this.finish(jobId, 'completed', response);
    const isSame = JSON.stringify(row.response) === JSON.stringify(response);
    return { ...receipt, status: isFirst ? 'ended' : isSame ? 'duplicate' : 'known', job: row.status };
  }

  deliver({ jobId }: DeliverJobInput): DeliveredJob {
    const row = this.row(jobId);
    row.delivered.push(row.response ?? {});
    return { v: 1, delivered: true };
  }

  #look(row: Row, jobId: string, script: ScriptedJob | undefined): JobEnded {
    const { workflowExecution, activityId } = activityInfo();
    if (workflowExecution === undefined) throw new Error('a look is an activity of a workflow');
    row.address = { ...workflowExecution, activityId };
    row.looks += 1;
    if (row.status !== 'running') return { v: 1, ended: jobId };
    if (script?.looksEvery === undefined) throw new CompleteAsyncError();
    throw ApplicationFailure.create({
      message: 'not yet',
      nextRetryDelay: script.looksEvery,
      category: ApplicationFailureCategory.BENIGN,
    });
  }

  #carryOut(
    row: Row,
    { why, text, detached }: Extract<JobTask, { do: 'end' }>,
  ): ToolCallResult | EndedDetachedJob {
    if (why === 'ended' && row.status === 'running') throw new Error('it has not ended');
    const status = why === 'timeout' ? 'timed_out' : why === 'cancelled' ? 'cancelled' : 'failed';
    this.#end(row, status, { error: text ?? why });
    if (!detached) return this.#settle(row);
    if (row.status === 'running') throw new Error('a job ends by its task');
    return { v: 1, status: row.status, gist: '' };
  }

  #settle(row: Row): ToolCallResult {
    const { response = {} } = row;
    row.settled.push(response);
    return { v: 1, response: { value: response } };
  }

  #end(row: Row, status: JobStatus, response: Row['response'] = {}): boolean {
    if (row.status !== 'running') return false;
    Object.assign(row, { status, response });
    return true;
  }
}
