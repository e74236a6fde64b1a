import { defineSignal, setHandler } from '@temporalio/workflow';
import type { HeldQuestion } from '../../src/contract/approvals.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { heldRequestIdOf, isHeldRequest } from '../../src/protocol/gate.ts';
import { HOLD_QUESTION } from '../../src/protocol/names.ts';
import { failure, taken } from '../arguments.ts';
import type { AskingCall } from './request-book.ts';
import type { Requests } from './requests.ts';

/**
 * Questions that activities of calls hold open while they are under way. An activity tells of a question by a signal, as anybody could:
 * so a question is of a call that runs, its number is bounded, and only the store says whether it was asked, and answered.
 */
export class HeldQuestions {
  readonly #requests: Requests;
  readonly #running = new Map<string, AskingCall>();

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** The activity of a call is under way. */
  began(call: AskingCall): void {
    this.#running.set(call.callKey, call);
  }

  /** It has ended: nobody waits for an answer any more. */
  ended({ callKey }: Pick<AskingCall, 'callKey'>): void {
    this.#running.delete(callKey);
    for (const { call, gate } of this.#requests.pending) {
      if (call.callKey === callKey && isHeldRequest(gate.requestId))
        this.#requests.endHeld(gate.requestId, 'cancelled');
    }
  }

  /** @throws ApplicationFailure of type `InvalidState`, or `UnknownCall` */
  told(given: HeldQuestion): void {
    const {
      callKey,
      n,
      ends,
      v: _v,
      hint = '',
      ...gate
    } = taken(WORKFLOW_CHECKS.heldQuestion, given, {
      of: HOLD_QUESTION,
      type: 'InvalidState',
    });
    const call = this.#running.get(callKey);
    if (call === undefined)
      throw failure('UnknownCall', `${HOLD_QUESTION}: callKey: no such call runs here`, { callKey });
    const requestId = heldRequestIdOf(callKey, n);
    if (ends !== undefined) {
      this.#requests.endHeld(requestId, ends);
      return;
    }
    const { expiresIn, concealed, notifies, notifiesEnd } = gate;
    this.#requests.hold(call, {
      ...{ requestId, kind: 'input', hint, expiresIn },
      ...(concealed ? { concealed } : {}),
      ...(notifies ? { notifies } : {}),
      ...(notifiesEnd ? { notifiesEnd } : {}),
    });
  }
}

/** @param noted runs the handler of a signal and keeps its failure as a note: a signal has no answer. */
export function handleHeldQuestions(questions: HeldQuestions, noted: (handle: () => void) => void): void {
  setHandler(defineSignal<[HeldQuestion]>(HOLD_QUESTION), (given) => noted(() => questions.told(given)), {
    description: 'from the activity of a call: it holds a question open: { callKey, n }',
  });
}
