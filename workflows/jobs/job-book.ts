import type { JobName, JobProgress } from '../../src/contract/jobs.ts';
import { callKeyOfId, ownCallId } from '../../src/protocol/identity.ts';
import type { WaitingJob } from '../../src/protocol/job.ts';
import type { PlannedCall } from '../../src/protocol/step.ts';
import { failure } from '../arguments.ts';
import type { JobWait } from './job-wait.ts';

/** A call that waits for its job. */
export interface ParkedCall {
  jobId: string;
  /** Milliseconds since the epoch. */
  since: number;
  wait: Pick<JobWait, 'until' | 'expire'>;
}

/** A call of the step under way, or one of the turn whose job has ended. */
export interface BookedCall extends Pick<PlannedCall, 'callKey' | 'callId' | 'tool'> {
  /** `open`: its tool may run, and nobody knows whether it has a job. `ending`: its job has ended, and the call is being settled. */
  phase: 'open' | 'parked' | 'ending' | 'ended';
  parked?: ParkedCall;
  /** Its job goes on without the turn. */
  detached?: true;
  progress?: JobProgress;
}

/** The jobs that calls of the turn have waited for: the wire ids of their calls, by call key. */
export type EndedJobs = Record<string, string>;

const MOST_ENDED = 256;
const MOST_NAMED = 8;

/** The calls of a turn that have jobs, or may yet have one. */
export class JobBook {
  /** Jobs that have ended; the newest ones. */
  readonly ended: EndedJobs;
  readonly #calls: Map<string, BookedCall>;

  /** @param ended in runs before this one. */
  constructor(ended: EndedJobs) {
    this.ended = { ...ended };
    this.#calls = new Map(
      Object.entries(ended).map(([callKey, callId]) => [
        callKey,
        { callKey, callId, tool: '', phase: 'ended' },
      ]),
    );
  }

  get calls(): BookedCall[] {
    return [...this.#calls.values()];
  }

  /** The waiting jobs, in the order in which they began to wait. */
  get parked(): (BookedCall & { parked: ParkedCall })[] {
    return this.calls.flatMap((call) => {
      const { parked, phase } = call;
      return phase === 'parked' && parked !== undefined ? [Object.assign(call, { parked })] : [];
    });
  }

  get(callKey: string): BookedCall | undefined {
    return this.#calls.get(callKey);
  }

  plan({ callKey, callId, tool }: Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>): void {
    this.#calls.set(callKey, { callKey, callId, tool, phase: 'open' });
  }

  /** A message that tells of the job that this call has waited for is answered from now on with how it has ended. */
  end(call: BookedCall): void {
    call.phase = 'ended';
    if (call.parked === undefined) {
      this.#calls.delete(call.callKey);
      return;
    }
    this.ended[call.callKey] = call.callId;
    const keys = Object.keys(this.ended);
    for (const old of keys.slice(0, Math.max(0, keys.length - MOST_ENDED))) this.#forget(old);
  }

  /** The wire id of this call means its job from now on, and no job that has ended. */
  detach(call: BookedCall): void {
    call.detached = true;
    for (const { phase, callKey, callId } of this.calls) {
      if (phase === 'ended' && callId === call.callId) this.#forget(callKey);
    }
  }

  /**
   * The calls that a response of this id may be for: one by our own name of it; else those that wait for jobs, else those that run,
   * else the latest whose job has ended.
   */
  fitting(id: string): BookedCall[] {
    const own = this.#calls.get(callKeyOfId(id) ?? '');
    if (own !== undefined) return [own];
    const fitting = this.calls.filter(({ callId }) => callId === id);
    for (const phases of [['parked', 'ending'], ['open']]) {
      const found = fitting.filter(({ phase }) => phases.includes(phase));
      if (found.length > 0) return found;
    }
    return fitting.slice(-1);
  }

  /**
   * The call that waits for the job that is meant.
   *
   * @throws ApplicationFailure of type `NotPending`, or `AmbiguousJob` where several fit.
   */
  find({ jobId, callKey, callId }: JobName): BookedCall & { parked: ParkedCall } {
    const fitting = this.parked.filter(
      (call) =>
        (jobId === undefined || call.parked.jobId === jobId) &&
        (callKey === undefined || call.callKey === callKey) &&
        (callId === undefined || call.callId === callId),
    );
    const [call, another] = fitting;
    if (call === undefined) {
      throw failure('NotPending', `no call waits for such a job; waiting: ${listed(this.parked)}`);
    }
    if (another !== undefined) {
      throw failure('AmbiguousJob', `several calls wait, name one by its job's id: ${listed(fitting)}`);
    }
    return call;
  }

  #forget(callKey: string): void {
    this.#calls.delete(callKey);
    delete this.ended[callKey];
  }
}

/** As the query `status` tells of it. */
export function waitingJob({
  callKey,
  callId,
  tool,
  parked,
  progress,
}: BookedCall & { parked: ParkedCall }): WaitingJob {
  return {
    jobId: parked.jobId,
    callKey,
    callId,
    tool,
    progress,
    since: parked.since,
    until: parked.wait.until,
  };
}

/** How operators and clients tell them apart. */
export function listed(calls: readonly Pick<BookedCall, 'callKey' | 'tool' | 'parked'>[]): string {
  if (calls.length === 0) return 'none';
  const names = calls
    .slice(0, MOST_NAMED)
    .map(({ callKey, tool, parked }) => `${parked?.jobId ?? callKey} (${tool} ${ownCallId(callKey)})`);
  const more = calls.length - names.length;
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** The newest: signals of one job may overtake each other. */
export function newerOf(known: JobProgress | undefined, told: JobProgress): JobProgress {
  return known !== undefined && known.at > told.at ? known : told;
}
