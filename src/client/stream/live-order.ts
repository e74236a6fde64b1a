import type { EventKind, StoredEvent } from '../../contract/events.ts';
import { JOB_MODES } from '../../contract/lists.ts';
import type { LiveItem } from './stream-item.ts';

type Of<Type> = Extract<LiveItem, { type: Type }>;
type TextItem = Of<'text' | 'text dropped'>;
type JobItem = Of<'job'>;
type CallItem = Exclude<LiveItem, TextItem>;

/** Runs whose progress is remembered: more than run at a time in a session. */
const MOST_RUNS = 1_000;

interface CallProgress {
  isSettled: boolean;
  /** The last attempt that is known to have begun; it, and none before it, has chunks that count. */
  counts: number;
  /** Whether its begin was given. */
  isBegun: boolean;
  /** Of the last chunk that was given. */
  attempt: number;
  index: number;
}

const UNHEARD: CallProgress = { isSettled: false, counts: 1, isBegun: false, attempt: 0, index: -1 };

interface RunProgress {
  /** Items that were given of jobs, by call. */
  jobs: JobNews;
  /** The step whose text comes. */
  step: number;
  /** The first attempt of it whose text counts. */
  counts: number;
  /** Of the last text that was given. */
  attempt: number;
  index: number;
  /** The last step whose event was given. */
  answered: number;
  /** The last step whose responses were given. */
  responded: number;
  /** Of each call whose responses were not given. */
  calls: Map<string, CallProgress>;
}

/**
 * Which of the live items that are heard a follower is given. They may come late, twice or not at all: no text of a step
 * comes after the step's event, none of an attempt after a later attempt's, none twice; no call's news after its responses,
 * and none of its chunks after it has settled or once a later attempt has begun. News of a job that goes on without its turn come
 * after the responses, too; of any job none comes after its end.
 */
export class LiveOrder {
  readonly #runs = new Map<string, RunProgress>();

  /** Items to give for an item: none, the item, or before it the word that an earlier attempt's text is dropped. */
  admit(item: LiveItem): LiveItem[] {
    const run = this.#progressOf(item.runKey);
    if (isOfCall(item)) return admitCall(run, item);
    if (item.step <= run.answered || item.step < run.step) return [];
    if (item.step > run.step) Object.assign(run, { step: item.step, counts: 1, attempt: 0, index: -1 });
    return item.type === 'text' ? admitText(run, item) : admitDropped(run, item);
  }

  /** Whether an item has its place before an event, and none after it. */
  isBefore(item: LiveItem, { kind, runKey, step }: StoredEvent): boolean {
    if (item.runKey !== runKey) return false;
    if (!isOfCall(item)) return endsText(kind) && item.step <= step;
    return kind === 'responses' && stepOf(item.callKey) <= step && !outlivesCall(item);
  }

  /** The follower is given this event. */
  passed({ kind, runKey, step }: StoredEvent): void {
    if (!endsText(kind)) return;
    const run = this.#progressOf(runKey);
    run.answered = Math.max(run.answered, step);
    if (kind !== 'responses') return;
    run.responded = Math.max(run.responded, step);
    for (const callKey of run.calls.keys()) {
      // Calls of later steps may have been heard of before this event was read.
      if (stepOf(callKey) <= step) run.calls.delete(callKey);
    }
  }

  #progressOf(runKey: string): RunProgress {
    const known = this.#runs.get(runKey);
    if (known !== undefined) return known;
    const run = {
      jobs: new JobNews(),
      step: 0,
      counts: 1,
      attempt: 0,
      index: -1,
      answered: 0,
      responded: 0,
      calls: new Map<string, CallProgress>(),
    };
    this.#runs.set(runKey, run);
    if (this.#runs.size > MOST_RUNS) {
      const [oldest = ''] = this.#runs.keys();
      this.#runs.delete(oldest);
    }
    return run;
  }
}

function isOfCall(item: LiveItem): item is CallItem {
  return 'callKey' in item;
}

function outlivesCall(item: CallItem): item is JobItem {
  return item.type === 'job' && item.mode === 'detached';
}

function endsText(kind: EventKind): boolean {
  return kind === 'model' || kind === 'callback' || kind === 'error' || kind === 'responses';
}

function admitText(run: RunProgress, item: Of<'text'>): LiveItem[] {
  const { runKey, step, attempt, index } = item;
  if (attempt < run.counts || (attempt === run.attempt && index <= run.index)) return [];
  const replaced = attempt > run.counts && run.attempt === run.counts;
  Object.assign(run, { counts: attempt, attempt, index });
  return replaced ? [{ type: 'text dropped', runKey, step, attempt }, item] : [item];
}

function admitDropped(run: RunProgress, item: Of<'text dropped'>): LiveItem[] {
  if (item.attempt <= run.counts) return [];
  run.counts = item.attempt;
  return [item];
}

function admitCall(run: RunProgress, item: CallItem): LiveItem[] {
  const { callKey } = item;
  if (stepOf(callKey) <= run.responded && !outlivesCall(item)) return [];
  if (item.type === 'job') return run.jobs.isNew(item) ? [item] : [];
  const call = run.calls.get(callKey) ?? { ...UNHEARD };
  run.calls.set(callKey, call);
  if (call.isSettled) return [];
  if (item.type === 'call finished') {
    call.isSettled = true;
    return [item];
  }
  if (item.type === 'call started') return admitStart(call, item);
  return item.type === 'tool chunk' ? admitChunk(call, item) : admitChunksDropped(call, item);
}

function admitStart(call: CallProgress, item: Of<'call started'>): LiveItem[] {
  const { runKey, callKey, attempt } = item;
  if (attempt < call.counts || (attempt === call.counts && call.isBegun)) return [];
  const replaced = attempt > call.counts && call.attempt === call.counts;
  Object.assign(call, { counts: attempt, isBegun: true });
  return replaced ? [{ type: 'tool chunks dropped', runKey, callKey, attempt }, item] : [item];
}

function admitChunk(call: CallProgress, item: Of<'tool chunk'>): LiveItem[] {
  const { runKey, callKey, attempt, index } = item;
  if (attempt < call.counts || (attempt === call.attempt && index <= call.index)) return [];
  const replaced = attempt > call.counts && call.attempt === call.counts;
  if (attempt > call.counts) call.isBegun = false;
  Object.assign(call, { counts: attempt, attempt, index });
  return replaced ? [{ type: 'tool chunks dropped', runKey, callKey, attempt }, item] : [item];
}

function admitChunksDropped(call: CallProgress, item: Of<'tool chunks dropped'>): LiveItem[] {
  if (item.attempt <= call.counts) return [];
  Object.assign(call, { counts: item.attempt, isBegun: false });
  return [item];
}

/** A call key is its run's key, its step and its place, with dots between. */
function stepOf(callKey: string): number {
  return Number(callKey.split('.').at(-2));
}

const ENDED = Number.POSITIVE_INFINITY;

/** Notices of the jobs of a run: notices come late and twice. */
class JobNews {
  /** By job: how far its mode and its progress were told. */
  readonly #told = new Map<string, { mode: number; at: number }>();

  /** Whether an item says more than what was told before; nothing does once the job has ended. */
  isNew({ jobId, status, mode, progress }: JobItem): boolean {
    const told = this.#told.get(jobId) ?? { mode: -1, at: -1 };
    const item = { mode: JOB_MODES.indexOf(mode), at: status === 'running' ? (progress?.at ?? 0) : ENDED };
    const isNew = item.at > told.at || (item.at === told.at && item.mode > told.mode && told.at < ENDED);
    if (isNew) this.#told.set(jobId, { mode: Math.max(item.mode, told.mode), at: item.at });
    return isNew;
  }
}
