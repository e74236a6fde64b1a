import { defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import { INLINE_CALLS_TOLD } from '../../src/protocol/activity-results.ts';
import { runKeyOfCallKey } from '../../src/protocol/identity.ts';
import { CANCELLED_CALLS_QUERY, INLINE_CALLS } from '../../src/protocol/names.ts';
import type { InlineCallsTold } from '../../src/protocol/step.ts';
import type { RunningCall } from '../../src/protocol/turn.ts';
import { failure } from '../arguments.ts';
import type { Steering } from '../turn/steering.ts';

/** As many as a step has. */
const MOST_CALLS = 128;

/**
 * Calls that the activity of the step under way runs. It tells of those that take a while, so that people see them and can cancel them.
 * Anybody could tell of calls: they are of the run that is under way, and are forgotten when its step has answered.
 */
export class InlineCalls {
  readonly #steering: Steering;
  #runKey: string | undefined;
  #told: InlineCallsTold | undefined;

  constructor(steering: Steering) {
    this.#steering = steering;
  }

  get running(): RunningCall[] {
    return (this.#told?.calls ?? []).map(({ callKey, tool, since }) => ({ callKey, tool, since }));
  }

  /** The step that they are of. */
  get step(): number | undefined {
    return this.#told?.step;
  }

  /** A step of this run is asked for. */
  asks(runKey: string): void {
    this.#runKey = runKey;
  }

  answered(): void {
    this.#runKey = undefined;
    this.#told = undefined;
  }

  /** @throws ApplicationFailure of type `InvalidState` */
  told(given: InlineCallsTold): void {
    const problem = INLINE_CALLS_TOLD(given, INLINE_CALLS);
    if (problem !== undefined) throw failure('InvalidState', problem);
    if (this.#runKey === undefined) return;
    const own = given.calls.filter(({ callKey }) => runKeyOfCallKey(callKey) === this.#runKey);
    const calls = own.slice(0, MOST_CALLS);
    this.#told = { step: given.step, calls };
    this.#steering.planned(calls);
  }
}

/** @param noted runs the handler of a signal and keeps its failure as a note: a signal has no answer. */
export function handleInlineCalls(
  calls: InlineCalls,
  steering: Steering,
  noted: (handle: () => void) => void,
): void {
  setHandler(defineSignal<[InlineCallsTold]>(INLINE_CALLS), (given) => noted(() => calls.told(given)), {
    description: 'from the activity of a step: it runs calls itself: { step, calls }',
  });
  setHandler(defineQuery<string[]>(CANCELLED_CALLS_QUERY), () => steering.cancelledCalls, {
    description: 'for the activity of a step: the keys of those calls that were cancelled',
  });
}
