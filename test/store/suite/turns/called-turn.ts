import { callKeyOf, runKeyOfAgent, runKeyOfCall } from '../../../../src/protocol/identity.ts';
import type { OpenStep } from '../../../../src/store/turns/step-store.ts';
import { AskingTurn } from '../approvals/asking-turn.ts';
import type { Turn } from './turn.ts';

/** The agent of a call of a turn, in a session of its own. */
export class CalledTurn extends AskingTurn {
  readonly caller: Turn;
  readonly calledBy: string;
  override readonly invocationId: string;

  constructor(caller: Turn, index = 0, { attempt = 1, step = 1 } = {}) {
    const callKey = callKeyOf(caller.invocationId, step, index);
    const runKey = runKeyOfCall(caller.invocationId, callKey, { agent: 'helper', attempt });
    super(caller.store, {
      names: { ...caller.names, sessionId: runKey },
      messageId: runKey,
      fence: caller.fence,
    });
    this.invocationId = runKey;
    this.caller = caller;
    this.calledBy = callKey;
  }

  override above(step: number): Partial<OpenStep> {
    if (step > 1) return { child: true };
    const { session, invocationId: runKey } = this.caller;
    return { child: true, parent: { session, runKey, callKey: this.calledBy, path: ['clerk', 'helper'] } };
  }
}

/** An agent that a turn runs in its own session. */
export function runInSession(planner: Turn, index: number) {
  const { store, session, invocationId, fence } = planner;
  const runKey = runKeyOfAgent(invocationId, { agent: 'helper', step: 1, index });
  return {
    runKey,
    open: (given = fence) =>
      store.turns.openStep({
        session,
        invocationId,
        runKey,
        step: 1,
        fence: given,
        seq: 0,
        plannedBy: invocationId,
        child: true,
      }),
  };
}
