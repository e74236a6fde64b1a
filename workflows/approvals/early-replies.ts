import { callKeyOfRequest } from '../../src/protocol/gate.ts';
import { type CallPlace, placeOfKey } from '../../src/protocol/identity.ts';
import type { CheckedDecision } from './decision.ts';

const MOST_KEPT = 256;

/**
 * Answers that are faster than the outcome of the activity that has asked: a request is told to people as soon as the store has
 * it, which is before the workflow hears of it.
 */
export class EarlyReplies {
  /** The step that is asked for; its activity may go on with later ones. */
  #asked: Omit<CallPlace, 'index'> | undefined;
  /** Calls that may ask while they run. */
  #calls = new Set<string>();
  #kept: { requestId: string; decision: CheckedDecision }[] = [];

  /** A step is asked for. */
  asking(runKey: string, step: number): void {
    this.#asked = { runKey, step };
  }

  /**
   * The step's calls are known.
   *
   * @returns ids of requests that were answered and don't exist.
   */
  planned(callKeys: readonly string[]): string[] {
    this.#asked = undefined;
    this.#calls = new Set(callKeys);
    return this.#drop((callKey) => !this.#calls.has(callKey));
  }

  /** As {@link planned}, for a call that asks no more. */
  ended(ended: string): string[] {
    this.#calls.delete(ended);
    return this.#drop((callKey) => callKey === ended);
  }

  expects(requestId: string): boolean {
    const callKey = callKeyOfRequest(requestId);
    if (callKey === undefined) return false;
    if (this.#calls.has(callKey)) return true;
    const place = placeOfKey(callKey);
    if (this.#asked === undefined || place === undefined) return false;
    return place.runKey === this.#asked.runKey && place.step >= this.#asked.step;
  }

  /** Whether there was room. */
  keep(requestId: string, decision: CheckedDecision): boolean {
    if (this.#kept.length >= MOST_KEPT) return false;
    this.#kept.push({ requestId, decision });
    return true;
  }

  /** In the order in which they came. */
  take(requestId: string): CheckedDecision[] {
    const taken = this.#kept.filter((reply) => reply.requestId === requestId);
    if (taken.length > 0) this.#kept = this.#kept.filter((reply) => reply.requestId !== requestId);
    return taken.map(({ decision }) => decision);
  }

  #drop(isGone: (callKey: string) => boolean): string[] {
    const gone = this.#kept.filter(({ requestId }) => isGone(callKeyOfRequest(requestId) ?? ''));
    if (gone.length > 0) this.#kept = this.#kept.filter((reply) => !gone.includes(reply));
    return gone.map(({ requestId }) => requestId);
  }
}
