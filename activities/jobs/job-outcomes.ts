import type { AwaitedJob } from '../../src/protocol/job.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { CallActions, JobOutcome } from '../../src/store/store.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { CallOutcome } from '../tool/failed-call.ts';
import type { CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';
import { hookTime, outcomeOfTimeout, outOfTime } from './job-hooks.ts';
import type { EndedOtherwise, JobOfCall, LeftJob } from './job-of-call.ts';
import { heardOutcome } from './job-outcome.ts';
import { JobScene } from './job-scene.ts';
import { tellCancelled } from './tell-cancelled.ts';

/** A call that goes on as a job: nothing is settled. */
export interface ParkedRun {
  parks: AwaitedJob;
}

interface CallOfJob {
  input: ToolCallInput;
  callbacks: ToolCallbacks;
  job: JobOfCall | undefined;
}

/** What a running call comes to by its job. */
export class JobOutcomes {
  readonly #dependencies: ActivityDependencies;
  readonly #current: Attempt;
  readonly #call: CallOfJob;
  readonly #called: (actions: CallActions | undefined) => CalledTool;

  /** @param called what callbacks are told of the call; its effects begin with what is given. */
  constructor(
    dependencies: ActivityDependencies,
    current: Attempt,
    call: CallOfJob,
    called: (actions: CallActions | undefined) => CalledTool,
  ) {
    this.#dependencies = dependencies;
    this.#current = current;
    this.#call = call;
    this.#called = called;
  }

  /** @param actions what the run has done beside. */
  async of(
    left: Exclude<LeftJob, { kind: 'result' }>,
    actions: CallActions | undefined,
  ): Promise<CallOutcome | ParkedRun> {
    if (left.kind === 'parked') return { parks: left.parks };
    if (left.kind === 'ended') return await this.ended(left, actions);
    const response = this.#call.job?.intermediate ?? {};
    const heard = await this.#heard({ response, failed: false }, actions, true);
    return { ...heard, detached: left.detached };
  }

  async ended({ outcome, unwanted }: EndedOtherwise, actions: CallActions | undefined): Promise<CallOutcome> {
    const { job, input } = this.#call;
    if (unwanted && job !== undefined) {
      const row = await job.opened();
      const scene = await JobScene.open(this.#dependencies, input, row, this.#current);
      const delay = await tellCancelled(this.#dependencies, scene, this.#current);
      if (delay !== undefined) {
        const text = `cancel of tool '${scene.tool.name}' failed`;
        throw retryLater('HOLDFAST_JOB_HOOK_FAILED', text, { delay });
      }
    }
    return await this.#heard(outcome, actions);
  }

  /**
   * A running call is cancelled: whoever does its job is told, as where its tool has returned; not where somebody has said by now
   * what the job came to.
   */
  async tellCancelled(job: JobOfCall): Promise<void> {
    if (!this.#current.isCancelled()) return;
    const opened = await job.opened();
    const row = (await this.#dependencies.store.findJob(opened.jobId)) ?? opened;
    if (row.status === 'completed' || row.status === 'failed') return;
    // The attempt's own signal has fired by now.
    const current = { ...this.#current, signal: new AbortController().signal };
    const scene = await JobScene.open(this.#dependencies, this.#call.input, row, current);
    await tellCancelled(this.#dependencies, scene, current);
  }

  /** The run is the job, and has used up its time. */
  async outOfTime(job: JobOfCall, actions: CallActions | undefined): Promise<CallOutcome> {
    const row = await job.opened();
    const scene = await JobScene.open(this.#dependencies, this.#call.input, row, this.#current);
    const outcome = await outcomeOfTimeout(this.#dependencies, scene, outOfTime(row), this.#current);
    const ended = await job.end(outcome, 'timed_out');
    return await this.ended(ended ?? { outcome, unwanted: true }, actions);
  }

  /** What nobody has heard of yet. */
  async #heard(
    outcome: JobOutcome,
    actions: CallActions | undefined,
    isIntermediate = false,
  ): Promise<CallOutcome> {
    const { callbacks } = this.#call;
    const call = this.#called(actions);
    return await heardOutcome({
      ...{ callbacks, call, outcome, current: this.#current, time: hookTime(call.tool) },
      ...(isIntermediate ? { isIntermediate } : {}),
    });
  }
}
