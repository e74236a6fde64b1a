import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  scheduleActivity,
  sleep,
} from '@temporalio/workflow';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import type { AgentToolPlan, ChildStart, EndedAgent } from '../../src/protocol/agent-run.ts';
import { callInput, runTermsOf } from '../../src/protocol/call-input.ts';
import { runKeyOfCall } from '../../src/protocol/identity.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type { PlannedCall, ToolCallInput, ToolCallResult } from '../../src/protocol/step.ts';
import { ranAgentOptions, turnPriority, usable } from '../activities.ts';
import { type RanCall, ranOf, type StepOfCall, unsettledText } from '../calls/call.ts';
import { pathOf } from '../turn/turn-state.ts';
import { type EndedChild, runChild } from './run-child.ts';

/** How long an agent that is out of time may take to end, milliseconds. */
const PATIENCE = 10_000;

/** The same for one that lives elsewhere and is cancelled, milliseconds: at the root, and by how much less each level below. */
const PATIENCE_ELSEWHERE = 30_000;
const LESS_BELOW = 5_000;

/** Runs the agent of a call as a child, as often as it may be, then settles the call by what that has come to. */
export async function callAgent(
  call: PlannedCall,
  schedule: ToolSchedule,
  runs: AgentToolPlan,
  step: StepOfCall,
): Promise<RanCall> {
  const { context, turn, state } = step;
  const { callKey, tool, summary } = call;
  const beganAt = Date.now();
  const ran = { ...(await inTime(runs, step, () => attempts(call, runs, step))), beganAt };
  const input: ToolCallInput = {
    ...callInput(call, context),
    ...(schedule.exclusive ? { exclusive: true } : {}),
    ran,
  };
  const priority = turnPriority(turn.start, state.priority);
  const told = [...(summary ? [summary] : []), ran.status].join(' · ');
  const options = ranAgentOptions({ callKey, tool, summary: told }, schedule, priority);
  try {
    const result = await scheduleActivity<ToolCallResult>(tool, [input], options);
    return ranOf(usable(tool, RESULTS.toolCall, result));
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: unsettledText(error, call) };
  }
}

interface Attempts {
  /** Run key of the child that runs, or ran last. */
  runKey: string;
  ended: Promise<EndedChild>;
}

/** The runs of the agent, one after another until one has an answer. */
function attempts(call: PlannedCall, runs: AgentToolPlan, step: StepOfCall): Attempts {
  const { runKey: parentRunKey } = step.context;
  const { attempts: most = 1, name: agent } = runs;
  const all: Attempts = { runKey: runKeyOfCall(parentRunKey, call.callKey, { agent }), ended: run(1) };
  return all;

  async function run(attempt: number): Promise<EndedChild> {
    const runKey = runKeyOfCall(parentRunKey, call.callKey, { agent, attempt });
    if (attempt > 1) all.runKey = runKey;
    const start = startOf(call, runs, runKey, step);
    const { taskQueue } = runs;
    const ended = await runChild(step.turn, step.state, { start, callKey: call.callKey, taskQueue });
    return ended.status === 'completed' || attempt === most ? ended : await run(attempt + 1);
  }
}

/** Their results within the call's time. A child that doesn't end after its cancellation, for want of a worker, is left. */
async function inTime(
  { timeout, name, taskQueue }: AgentToolPlan,
  { turn, state }: StepOfCall,
  begin: () => Attempts,
): Promise<EndedAgent> {
  let begun: Attempts | undefined;
  const scope = new CancellationScope({ cancellable: true });
  const timer = new CancellationScope({ cancellable: true });
  const ends = new Patience();
  const given = new Promise<'left'>((resolve, reject) => {
    if (taskQueue !== undefined) {
      const { cancelRequested } = CancellationScope.current();
      const patience = Math.max(PATIENCE_ELSEWHERE - LESS_BELOW * (pathOf(state).length - 1), PATIENCE);
      cancelRequested.catch((cancelled: unknown) => {
        ends.begin(patience, name, () => {
          turn.children.ended(runKey());
          reject(cancelled);
        });
      });
    }
    if (timeout === undefined) return;
    const late = async () => {
      await sleep(timeout, { summary: `time of ${name}` });
      isLate = true;
      scope.cancel();
      await sleep(PATIENCE, { summary: `${name} ends` });
      resolve('left');
    };
    timer.run(late).catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  });
  let isLate = false;
  const working = scope.run(() => {
    begun = begin();
    return begun.ended;
  });
  const runKey = () => begun?.runKey ?? '';
  try {
    const ended = await Promise.race([working, given]);
    if (ended === 'left') {
      // It is cancelled, and what it has begun is ended where the call is settled.
      working.catch(() => undefined);
      turn.children.ended(runKey());
      return { runKey: runKey(), status: 'timed out' };
    }
    const { status, error } = ended;
    return { runKey: runKey(), status, error };
  } catch (error) {
    if (!isLate || CancellationScope.current().consideredCancelled || !isCancellation(error)) throw error;
    return { runKey: runKey(), status: 'timed out' };
  } finally {
    timer.cancel();
    ends.over();
  }
}

/** A wait that what is cancelled around it doesn't end. */
class Patience {
  #scope: CancellationScope | undefined;
  #isOver = false;

  /** @param milliseconds until `without` is called, unless it is over before. */
  begin(milliseconds: number, name: string, without: () => void): void {
    if (this.#isOver) return;
    const wait = async () => {
      await sleep(milliseconds, { summary: `${name} ends` });
      without();
    };
    const waiting = CancellationScope.nonCancellable(() => {
      this.#scope = new CancellationScope({ cancellable: true });
      return this.#scope.run(wait);
    });
    waiting.catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  }

  over(): void {
    this.#isOver = true;
    this.#scope?.cancel();
  }
}

function startOf(
  { callKey, callId, tool, args }: PlannedCall,
  { name, root, within, branch, ...runs }: AgentToolPlan,
  runKey: string,
  { context, turn, state }: StepOfCall,
): ChildStart {
  const { session, runKey: parentRunKey, invocationId, tracedBelow } = context;
  return {
    rootWorkflowId: turn.rootWorkflowId,
    runKey,
    agent: { name, root, within },
    path: [...pathOf(state), name],
    branch,
    ...runTermsOf(runs),
    invocationId,
    tracedBelow: { root: tracedBelow?.root ?? invocationId, by: callKey, at: Date.now() },
    fence: { startedAt: state.chainStartedAt, invocation: state.number },
    seq: 0,
    call: { session, runKey: parentRunKey, callKey, callId, tool, args },
  };
}
