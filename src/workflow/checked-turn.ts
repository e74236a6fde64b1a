import { uuid4 } from '@temporalio/workflow';
import { type Problem, take } from '../contract/check.ts';
import type { MessagePolicy } from '../contract/messages.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { WORKFLOW_CHECKS } from '../contract/workflow-checks.ts';
import type { Content } from '../events/content.ts';
import { invocationIdOf, workflowIdOf } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { reservedKeyIn, reservedKeyText } from '../protocol/reserved-state.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import { contentProblem } from '../protocol/sizes.ts';
import type { AgentTurnStart, OwnCall } from '../protocol/turn.ts';
import { invalidTurn } from './agent-turn-errors.ts';

/** Options of {@link runAgent}. */
export interface AgentTurn {
  app: string;
  userId: string;
  sessionId: string;
  /** A string means one user text part. With `stateDelta` at most 64 KiB of JSON: put what is larger where a tool reads it. */
  message: string | Content;
  /**
   * Agent that answers, sub-agents included: any that the workers serve.
   *
   * @default the agent of the tree whose turn it is
   */
  agent?: string;
  /**
   * Root agent of the tree that answers where no `agent` is named.
   *
   * @default the app's
   */
  rootAgent?: string;
  /** State that the message's event carries. */
  stateDelta?: Record<string, unknown>;
  runConfig?: TurnRunConfig;
  /**
   * One message id is one turn, for ever: a second call with it gets the first one's answer.
   *
   * @default one of its own for each call, the same when the workflow is replayed
   */
  messageId?: string;
  /**
   * Where Holdfast's workers poll.
   *
   * @default 'holdfast'
   */
  taskQueue?: string;
  /**
   * Decides about a message that comes while the session answers another one: it waits, ends the other turn, or is refused.
   *
   * @default 'enqueue'
   */
  policy?: MessagePolicy;
  /**
   * The effect on the turn when this workflow closes before it. `'REQUEST_CANCEL'`: it is cancelled, and so is what its session
   * answers by then; messages that others have sent meanwhile are answered before {@link runAgent} returns. `'ABANDON'`: it goes on,
   * and {@link runAgent} returns when its own turn ends: for sessions that others write to.
   *
   * @default 'REQUEST_CANCEL'
   */
  parentClosePolicy?: 'REQUEST_CANCEL' | 'ABANDON';
  /**
   * Whether the answer has the content of the turn's last event: what isn't text, too. Costs an activity more.
   *
   * @default false
   */
  content?: boolean;
  /** Proves who sends the message: a compact JWS of an issuer that the app names. */
  attestation?: string;
  /**
   * Temporal's priority key of the turn's activities, 1 (first) to 5.
   *
   * @default 3
   */
  priority?: number;
  /** Of the W3C's Trace Context: the span that the turn's own span is below. */
  traceparent?: string;
}

/** A turn as it crosses Temporal. */
export interface CheckedTurn {
  workflowId: string;
  invocationId: string;
  start: AgentTurnStart & { messageId: string };
}

const NULL_IS_ABSENT = { nullIsAbsent: true };
const INSTEAD = 'put the content where a tool of the agent reads it';

/**
 * Checked by the contract, as the session checks it that answers it, idle or busy.
 *
 * @throws ApplicationFailure of type `InvalidTurn`, not to be retried.
 */
export function checkedTurn(given: AgentTurn, ownCall?: OwnCall): CheckedTurn {
  const { app, userId, sessionId, message, messageId = uuid4(), policy } = given;
  const { agent, rootAgent, stateDelta, runConfig, attestation, priority, traceparent } = given;
  const start = {
    v: PROTOCOL_VERSION,
    ...{ app, userId, sessionId, messageId, message },
    ...defined({ agent, rootAgent, stateDelta, runConfig, attestation, priority, traceparent, ownCall }),
  };
  const invalid = ({ field, problem }: Problem) =>
    invalidTurn(`${ownCall === undefined ? 'runAgent' : ownCall.tool}: ${field}: ${problem}`, { field });
  const { value, problem } = take<CheckedTurn['start']>(WORKFLOW_CHECKS.turnStart, start, NULL_IS_ABSENT);
  if (problem !== undefined) throw invalid(problem);
  // A start has none, but a message to a busy session has one.
  const { problem: unknownPolicy } = take(WORKFLOW_CHECKS.policy, { policy }, NULL_IS_ABSENT);
  if (unknownPolicy !== undefined) throw invalid(unknownPolicy);
  if (message === undefined || message === null) {
    throw invalid({ field: 'message', problem: 'expected text or a Content { role, parts }, got nothing' });
  }
  const reserved = reservedKeyIn(stateDelta);
  if (reserved !== undefined) throw invalid({ field: 'stateDelta', problem: reservedKeyText(reserved) });
  const ofCall = ownCall === undefined ? [] : [ownCall.args, ownCall.question];
  const tooLarge = contentProblem([message, stateDelta, ...ofCall], INSTEAD);
  if (tooLarge !== undefined) throw invalid({ field: 'message', problem: tooLarge });
  return {
    workflowId: workflowIdOf(value.app, value.userId, value.sessionId),
    invocationId: invocationIdOf(value.app, value.userId, value.sessionId, value.messageId),
    start: value,
  };
}
