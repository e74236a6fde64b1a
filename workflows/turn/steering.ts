import { CancellationScope } from '@temporalio/workflow';
import type { CancelCall, Interrupt } from '../../src/contract/turns.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { defined } from '../../src/protocol/json.ts';
import { CANCEL_CALL, INTERRUPT } from '../../src/protocol/names.ts';
import type { StepEnding } from '../../src/protocol/step.ts';
import { excerpt } from '../../src/protocol/visible-text.ts';
import { refusal, taken } from '../arguments.ts';

/** How an invocation ends that somebody ended before its time. */
export type EarlyEnd = Pick<StepEnding, 'status' | 'error' | 'cutOff'>;

interface SteeredCall {
  callKey: string;
  callId: string;
  tool: string;
  /** Absent until the call begins. */
  scope?: CancellationScope;
  /** The response of a cancelled call. */
  cancelled?: string;
}

const LONGEST_REASON = 500;
const CANCELLED_TURN = 'cancelled: the turn was cancelled';

/** Interrupts and cancels the invocation that runs. */
export class Steering {
  #work: CancellationScope | undefined;
  #end: EarlyEnd | undefined;
  #calls = new Map<string, SteeredCall>();
  /** Responses of cancelled calls, by key: the activity of a step may run calls that are not planned here yet. */
  readonly #cancelled = new Map<string, string>();

  /** Set once somebody has ended the work that {@link run} waits for. */
  get earlyEnd(): EarlyEnd | undefined {
    return this.#end;
  }

  /** Runs an invocation's work so that it can be ended; also by an end that came before it began. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const scope = new CancellationScope({ cancellable: true });
    this.#work = scope;
    if (this.#end !== undefined) scope.cancel();
    try {
      return await scope.run(work);
    } finally {
      this.#work = undefined;
      this.#calls.clear();
      this.#cancelled.clear();
    }
  }

  /** Forgets how the work was ended, so that it doesn't end the next one. */
  forget(): void {
    this.#end = undefined;
  }

  /** The first one to end the work decides how it ends. Only while there is work, or will be at once. */
  end(how: EarlyEnd): void {
    if (this.#end !== undefined) return;
    this.#end = how;
    this.#work?.cancel();
  }

  planned(calls: readonly Pick<SteeredCall, 'callKey' | 'callId' | 'tool'>[]): void {
    this.#calls = new Map(
      calls.map(({ callKey, callId, tool }) => {
        const cancelled = this.#cancelled.get(callKey);
        return [callKey, { callKey, callId, tool, ...defined({ cancelled }) }] as const;
      }),
    );
  }

  /** The call has a response, which counts, although somebody has cancelled it. */
  answered(callKey: string): void {
    this.#cancelled.delete(callKey);
  }

  /** Keys of the calls that were cancelled. */
  get cancelledCalls(): string[] {
    return [...this.#cancelled.keys()];
  }

  /** Runs a call so that it alone can be cancelled; what it was cancelled with is what `cancelled` gets. */
  async runCall(callKey: string, run: () => Promise<void>, cancelled: (text: string) => void): Promise<void> {
    const call = this.#calls.get(callKey);
    if (call === undefined) throw new Error(`call ${callKey} is not planned`);
    if (call.cancelled !== undefined) {
      cancelled(call.cancelled);
    } else {
      const scope = new CancellationScope({ cancellable: true });
      call.scope = scope;
      try {
        await scope.run(run);
      } catch (error) {
        // The work as a whole may have been ended as well: then all that is open ends alike.
        if (call.cancelled === undefined || CancellationScope.current().consideredCancelled) throw error;
        cancelled(call.cancelled);
      }
    }
    this.#calls.delete(callKey);
  }

  /** The response of a call that was ended early. */
  textOf(callKey: string): string {
    return this.#calls.get(callKey)?.cancelled ?? this.#end?.cutOff ?? CANCELLED_TURN;
  }

  /** Whether a call of this step is meant that has not ended. */
  hasCall({ callKey, callId }: CancelCall): boolean {
    if (callKey !== undefined) return this.#calls.has(callKey);
    return [...this.#calls.values()].some((call) => call.callId === callId);
  }

  cancelCall(callKey: string, reason?: string): void {
    const call = this.#calls.get(callKey);
    if (call === undefined || call.cancelled !== undefined) return;
    call.cancelled = `cancelled${reasonText(reason) || ' by an operator'}`;
    this.#cancelled.set(callKey, call.cancelled);
    call.scope?.cancel();
  }

  /**
   * The call that is meant.
   *
   * @throws ApplicationFailure of type `UnknownCall` where no open call fits, or several do.
   */
  callOf({ callKey, callId }: CancelCall): string {
    const refuse = (field: string, problem: string) => refusal(CANCEL_CALL, 'UnknownCall', field, problem);
    const open = [...this.#calls.values()];
    const names = open.map(({ callKey, tool }) => `${callKey} (${tool})`).join(', ') || 'none';
    if (callKey !== undefined) {
      if (this.#calls.has(callKey)) return callKey;
      throw refuse('callKey', `no call of this key is open; open calls: ${names}`);
    }
    if (callId === undefined) {
      throw refuse('callKey', `expected the key of an open call; open calls: ${names}`);
    }
    const fitting = open.filter((call) => call.callId === callId);
    const [call] = fitting;
    if (call === undefined) throw refuse('callId', `no open call has this id; open calls: ${names}`);
    if (fitting.length > 1) {
      throw refuse('callId', `several open calls have this id, name one by its key: ${names}`);
    }
    return call.callKey;
  }
}

/** @throws ApplicationFailure of type `UnknownCall` */
export function checkedCancel(given: CancelCall): CancelCall {
  return taken<CancelCall>(WORKFLOW_CHECKS.cancelCall, given, { of: CANCEL_CALL, type: 'UnknownCall' });
}

/** @throws ApplicationFailure of type `InvalidInterrupt` */
export function checkedInterrupt(given: Interrupt): Interrupt {
  return taken<Interrupt>(WORKFLOW_CHECKS.interrupt, given, { of: INTERRUPT, type: 'InvalidInterrupt' });
}

/** Follows what was done, and is cut: the model is told it again with every later step. */
export function reasonText(reason: unknown): string {
  if (typeof reason !== 'string' || reason === '') return '';
  return `: ${excerpt(reason, LONGEST_REASON)}`;
}
