import type { EventKind, StoredEvent } from '../store/store.ts';
import type { LiveItem } from './stream-item.ts';

type Text = Extract<LiveItem, { type: 'text' }>;
type Dropped = Extract<LiveItem, { type: 'text dropped' }>;
type CallItem = Exclude<LiveItem, Text | Dropped>;

/** Runs whose progress is remembered: more than run at a time in a session. */
const MOST_RUNS = 100;

const SETTLED = Number.POSITIVE_INFINITY;

interface RunProgress {
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
  /** The last attempt that began, of each open call. */
  calls: Map<string, number>;
}

/**
 * Which of the live items that are heard a follower is given. They may come late, twice or not at all: no text of a step
 * comes after the step's event, none of an attempt after a later attempt's, none twice; no call's news after its responses.
 */
export class LiveOrder {
  readonly #runs = new Map<string, RunProgress>();

  /** What is given for an item: nothing, the item, or before it the word that text of an earlier attempt is dropped. */
  admit(item: LiveItem): LiveItem[] {
    const run = this.#progressOf(item.runKey);
    if (item.type === 'call started' || item.type === 'call settled') return admitCall(run, item);
    if (item.step <= run.answered || item.step < run.step) return [];
    if (item.step > run.step) Object.assign(run, { step: item.step, counts: 1, attempt: 0, index: -1 });
    return item.type === 'text' ? admitText(run, item) : admitDropped(run, item);
  }

  /** Whether an item has its place before an event, and none after it. */
  isBefore(item: LiveItem, { kind, runKey, step }: StoredEvent): boolean {
    if (item.runKey !== runKey) return false;
    const isOfCall = item.type === 'call started' || item.type === 'call settled';
    return isOfCall
      ? kind === 'responses' && stepOf(item.callKey) <= step
      : endsText(kind) && item.step <= step;
  }

  /** The follower is given this event. */
  passed({ kind, runKey, step }: StoredEvent): void {
    if (!endsText(kind)) return;
    const run = this.#progressOf(runKey);
    run.answered = Math.max(run.answered, step);
    if (kind !== 'responses') return;
    run.responded = Math.max(run.responded, step);
    run.calls.clear();
  }

  #progressOf(runKey: string): RunProgress {
    const known = this.#runs.get(runKey);
    if (known !== undefined) return known;
    const run = {
      step: 0,
      counts: 1,
      attempt: 0,
      index: -1,
      answered: 0,
      responded: 0,
      calls: new Map<string, number>(),
    };
    this.#runs.set(runKey, run);
    if (this.#runs.size > MOST_RUNS) {
      const [oldest = ''] = this.#runs.keys();
      this.#runs.delete(oldest);
    }
    return run;
  }
}

function endsText(kind: EventKind): boolean {
  return kind === 'model' || kind === 'error' || kind === 'responses';
}

function admitText(run: RunProgress, item: Text): LiveItem[] {
  const { runKey, step, attempt, index } = item;
  if (attempt < run.counts || (attempt === run.attempt && index <= run.index)) return [];
  const replaced = attempt > run.counts && run.attempt === run.counts;
  Object.assign(run, { counts: attempt, attempt, index });
  return replaced ? [{ type: 'text dropped', runKey, step, attempt }, item] : [item];
}

function admitDropped(run: RunProgress, item: Dropped): LiveItem[] {
  if (item.attempt <= run.counts) return [];
  run.counts = item.attempt;
  return [item];
}

function admitCall(run: RunProgress, item: CallItem): LiveItem[] {
  if (stepOf(item.callKey) <= run.responded) return [];
  const known = run.calls.get(item.callKey) ?? 0;
  const now = item.type === 'call started' ? item.attempt : SETTLED;
  if (now <= known) return [];
  run.calls.set(item.callKey, now);
  return [item];
}

/** A call key is its run's key, its step and its place, with dots between. */
function stepOf(callKey: string): number {
  return Number(callKey.split('.').at(-2));
}
