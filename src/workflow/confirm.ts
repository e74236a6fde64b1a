import { ApplicationFailure } from '@temporalio/common';
import {
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  log,
  scheduleActivity,
  setHandler,
} from '@temporalio/workflow';
import type { Confirm, DecisionReceipt, Voter } from '../contract/approvals.ts';
import { take } from '../contract/check.ts';
import { decisionProblem } from '../contract/decision-limits.ts';
import type { ErrorCode } from '../contract/error-codes.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { WORKFLOW_CHECKS } from '../contract/workflow-checks.ts';
import { RESULTS } from '../protocol/activity-results.ts';
import { callKeyOfRequest, requestIdOf } from '../protocol/gate.ts';
import { callKeyOf, callKeyOfId, runKeyOfCallKey } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { CONFIRM, CONFIRM_AGENT, CONFIRM_TOOL, READ_DECISION } from '../protocol/names.ts';
import type { ReadDecision, ReadDecisionInput } from '../protocol/own-workflow.ts';
import type { ApprovalOptions } from '../tools/approval-options.ts';
import { turnActivityOptions, usable } from './activities.ts';
import type { CheckedTurn } from './checked-turn.ts';
import { type OwnCallPlace, responseOf, runOwnCall } from './own-call.ts';

/** Options of {@link confirm}. */
export interface Question extends OwnCallPlace {
  /** Text for people. */
  hint: string;
  /** JSON that goes with it; the answer has it, unless the decision brings another one. */
  payload?: unknown;
  /** Arguments that the decision is bound to: shown to people, who may change them with `approval.allowEdit`. @default none */
  args?: Record<string, unknown>;
  /** Approvers, quorum and expiry: as the `approval` of a tool. @default anybody, for ever */
  approval?: ApprovalOptions;
}

/** The decision of people. */
export interface Confirmation {
  confirmed: boolean;
  status: 'approved' | 'rejected' | 'expired';
  /** Deciders of the counted votes: with `verified: false` only Temporal knows the sender. */
  by: Voter[];
  reason?: string;
  /** That of the decision, else of the question. */
  payload?: unknown;
  /** As they were approved. */
  args: Record<string, unknown>;
  requestId: string;
  sessionId: string;
}

/**
 * Asks people, and waits for what they decide: in the lists of approvals, by signal, client, gateway or command line, as a gated
 * call of an agent. A rejection is an answer. Cancelling the scope that this is called in takes the question back.
 *
 * @throws ApplicationFailure of type `ConfirmFailed` where nobody could be asked: its `approval` is wrong, for one.
 * @throws AgentTurnFailed, AgentTurnInterrupted where somebody has ended the question's turn.
 * @throws CancelledFailure, or what contains one, where the scope was cancelled.
 * @example
 * const { confirmed } = await confirm({ app: 'shop', userId: 'ada', hint: 'Publish the report?', approval: { expiresIn: '2 days' } });
 */
export async function confirm(given: Question): Promise<Confirmation> {
  const { app, userId, hint, payload, args = {}, approval } = given;
  if (typeof hint !== 'string' || hint.trim() === '') {
    throw ApplicationFailure.nonRetryable('confirm: hint: expected what people are to read', 'InvalidTurn');
  }
  const question = {
    hint,
    ...defined({ payload, approval }),
  };
  const turn = { agent: CONFIRM_AGENT, message: hint };
  const ran = await runOwnCall(given, turn, { tool: CONFIRM_TOOL, args, question }, whileAsking);
  const { sessionId, taskQueue, result } = ran;
  const requestId = requestIdOf(callKeyOf(result.invocationId, 1, 0), 1);
  const input: ReadDecisionInput = { v: PROTOCOL_VERSION, app, userId, sessionId, requestId };
  const options = turnActivityOptions({ app, userId, taskQueue }, 'what was decided');
  const read = await scheduleActivity<ReadDecision>(READ_DECISION, [input], options);
  const decision = usable(`activity ${READ_DECISION}`, RESULTS.decision, read);
  const { v: _v, status, args: approved = args, ...said } = decision;
  if (status !== 'approved' && status !== 'rejected' && status !== 'expired') {
    const { response: { error } = {} } = await responseOf(given, ran);
    const problem = typeof error === 'string' ? error : 'nobody could be asked';
    throw ApplicationFailure.nonRetryable(`confirm: ${problem}`, 'ConfirmFailed');
  }
  return { confirmed: status === 'approved', status, ...said, args: approved, requestId, sessionId };
}

type AskingTurn = Pick<CheckedTurn, 'invocationId' | 'workflowId'>;

/** Turns that ask what this workflow asks; each workflow has modules of its own. */
const asking = new Set<AskingTurn>();

/** A question is pending for as long as `work` takes. */
async function whileAsking<T>(turn: AskingTurn, work: () => Promise<T>): Promise<T> {
  asking.add(turn);
  try {
    return await work();
  } finally {
    asking.delete(turn);
  }
}

/**
 * Has this workflow take the signal and the update `confirm`, with the payload that turns take, and give them to the question of
 * {@link confirm} that is meant: the only one that waits, or the one that `requestId` or `callKey` names. Call it at the beginning
 * of a workflow that has no handlers of that name itself. Without it decisions go to the question's own workflow, as clients, the
 * gateway and the command line send them.
 *
 * @example
 * export async function publish(): Promise<void> {
 *   handleConfirm();
 *   const { confirmed } = await confirm({ app: 'desk', userId: 'ada', hint: 'Publish?' });
 * }
 */
export function handleConfirm(): void {
  const description =
    'approves or rejects what this workflow asks: { confirmed, reason? }; requestId unless it is the only one';
  setHandler(
    defineUpdate<DecisionReceipt, [Confirm]>(CONFIRM),
    async (given) => {
      const decision = checkedConfirm(given);
      const { workflowId } = askedBy(decision);
      await getExternalWorkflowHandle(workflowId).signal(CONFIRM, decision);
      const { requestId = '', callKey = callKeyNamed(decision) ?? '' } = decision;
      return { v: PROTOCOL_VERSION, requestId, callKey, status: 'forwarded', workflowId };
    },
    {
      validator: (given) => void askedBy(checkedConfirm(given)),
      description: `${description}; answers to whom it was given`,
    },
  );
  setHandler(
    defineSignal<[Confirm]>(CONFIRM),
    async (given) => {
      try {
        const decision = checkedConfirm(given);
        await getExternalWorkflowHandle(askedBy(decision).workflowId).signal(CONFIRM, decision);
      } catch (error) {
        log.warn(error instanceof Error ? error.message : String(error));
      }
    },
    { description },
  );
}

/**
 * By the contract, as the question's own workflow checks it: what that would drop isn't called forwarded.
 *
 * @throws ApplicationFailure of type `InvalidDecision`
 */
function checkedConfirm(given: unknown): Confirm {
  const { value, problem } = take<Confirm>(WORKFLOW_CHECKS.confirm, given, { nullIsAbsent: true });
  const wrong = problem ?? decisionProblem(value);
  if (wrong === undefined) return value as Confirm;
  throw refused('InvalidDecision', `${wrong.field || 'arguments'}: ${wrong.problem}`);
}

function callKeyNamed({ requestId, callKey, callId }: Confirm): string | undefined {
  if (requestId !== undefined) return callKeyOfRequest(requestId);
  return callKey ?? (callId === undefined ? undefined : callKeyOfId(callId));
}

/** @throws ApplicationFailure of type `NotPending` or `AmbiguousRequest`. */
function askedBy(decision: Confirm): AskingTurn {
  const { requestId, callKey, callId } = decision;
  const isNamed = requestId !== undefined || callKey !== undefined || callId !== undefined;
  const named = callKeyNamed(decision);
  const runKey = named === undefined ? undefined : runKeyOfCallKey(named);
  const meant = [...asking].filter(({ invocationId }) => !isNamed || invocationId === runKey);
  const [turn, another] = meant;
  if (turn === undefined) throw refused('NotPending', 'no such question of this workflow waits');
  if (another !== undefined) {
    throw refused('AmbiguousRequest', `requestId: ${meant.length} questions wait, name one by its id`);
  }
  return turn;
}

function refused(type: ErrorCode, problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`confirm: ${problem}`, type);
}
