import { defineQuery, defineSignal, setHandler } from '@temporalio/workflow';
import { INLINE_CALLS_TOLD } from '../../src/protocol/activity-results.ts';
import { runKeyOfCallKey } from '../../src/protocol/identity.ts';
import { CANCELLED_CALLS_QUERY, INLINE_CALLS } from '../../src/protocol/names.ts';
import { MOST_CALLS } from '../../src/protocol/sizes.ts';
import type { InlineCallsTold } from '../../src/protocol/step.ts';
import type { RunningCall } from '../../src/protocol/turn.ts';
import { failure } from '../arguments.ts';
import type { Steering } from '../turn/steering.ts';

/**
 * Calls that the activity of the step under way runs. It tells of those that take a while, so that people see them and can cancel them.
 * Anybody could tell of calls: they are of the run that is under way, and are forgotten when its step has answered.
 */
export class InlineCalls {
  readonly #steering: Steering;
  #asked: { runKey: string; step: number } | undefined;
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

  /** This step is asked for, and in a chain those after it. */
  asks(runKey: string, step: number): void {
    this.#asked = { runKey, step };
  }

  answered(): void {
    this.#asked = undefined;
    this.#told = undefined;
  }

  /** @throws ApplicationFailure of type `InvalidState` */
  told(given: InlineCallsTold): void {
    const problem = INLINE_CALLS_TOLD(given, INLINE_CALLS);
    if (problem !== undefined) throw failure('InvalidState', problem);
    const asked = this.#asked;
    // The activity of an earlier step may be heard late.
    if (asked === undefined || given.step < asked.step) return;
    const own = given.calls.filter(({ callKey }) => runKeyOfCallKey(callKey) === asked.runKey);
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
