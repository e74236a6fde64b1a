import type { StoredEvent } from '../../store/sessions/stored-event.ts';
import type { LiveItem } from '../stream/stream-item.ts';

/** Runs of other turns whose keys are remembered. */
const MOST_OTHERS = 1_000;

/**
 * Which runs of a session are those of one turn: its own, whose key is its invocation's id, and those of the agents that it runs in
 * the same session, whose keys are known from their events.
 */
export class TurnRuns {
  readonly #invocationId: string;
  readonly #own: Set<string>;
  readonly #others = new Set<string>();
  /** The last event that was passed is the turn's. */
  #isUnderWay: boolean;

  constructor(invocationId: string, isUnderWay: boolean) {
    this.#isUnderWay = isUnderWay;
    this.#invocationId = invocationId;
    this.#own = new Set([invocationId]);
  }

  passed({ runKey, event }: StoredEvent): void {
    this.#isUnderWay = event.invocationId === this.#invocationId;
    if (this.#isUnderWay) {
      this.#own.add(runKey);
      return;
    }
    this.#others.add(runKey);
    const [oldest = ''] = this.#others;
    if (this.#others.size > MOST_OTHERS) this.#others.delete(oldest);
  }

  /** False where it is known to be another turn's. */
  mayHave({ runKey }: Pick<LiveItem, 'runKey'>): boolean {
    return !this.#others.has(runKey);
  }

  /** What is told before its run's first event is of the turn that is under way; a session has one at a time. */
  has(item: LiveItem): boolean {
    if (this.#own.has(item.runKey)) return true;
    const mayOutlive = item.type === 'job' && item.mode === 'detached';
    return this.#isUnderWay && !mayOutlive && this.mayHave(item);
  }
}
