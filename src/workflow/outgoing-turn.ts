import { ApplicationFailure } from '@temporalio/common';
import { uuid4 } from '@temporalio/workflow';
import { jsonBytes } from '../contract/json-bytes.ts';
import { isTooDeep, nameProblem, tooDeepText } from '../contract/message-limits.ts';
import type { MessagePolicy } from '../contract/messages.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import type { Content } from '../events/content.ts';
import { invocationIdOf, workflowIdOf } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { reservedKeyIn, reservedKeyText } from '../protocol/reserved-state.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import { PAYLOAD_LIMIT } from '../protocol/sizes.ts';
import type { AgentTurnStart, OwnCall } from '../protocol/turn.ts';

/** What {@link runAgent} takes. */
export interface AgentTurn {
  app: string;
  userId: string;
  sessionId: string;
  /** A string means one user text part. With `stateDelta` at most 64 KiB of JSON: put what is larger where a tool reads it. */
  message: string | Content;
  /**
   * Who answers: any agent that the workers serve, sub-agents included.
   *
   * @default whoever of the tree has to go on
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
   * What becomes of the turn when this workflow closes before it. `'REQUEST_CANCEL'`: it is cancelled, and so is what its session
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
export interface OutgoingTurn {
  workflowId: string;
  invocationId: string;
  start: AgentTurnStart & { messageId: string };
}

/**
 * Checked where a failure names the field; what else is wrong, the turn refuses itself.
 *
 * @throws ApplicationFailure of type `InvalidTurn`, not to be retried.
 */
export function outgoingTurn(given: AgentTurn, ownCall?: OwnCall): OutgoingTurn {
  const { app, userId, sessionId, message, messageId = uuid4() } = given;
  const invalid = (field: string, problem: string) =>
    invalidTurn(ownCall === undefined ? 'runAgent' : ownCall.tool, field, problem);
  const checkName = (field: string, value: unknown) => {
    if (typeof value !== 'string' || value === '') throw invalid(field, 'expected a non-empty string');
    const problem = nameProblem(value);
    if (problem !== undefined) throw invalid(field, problem);
  };
  for (const [field, value] of Object.entries({ app, userId, sessionId, messageId })) checkName(field, value);
  const { agent, rootAgent, stateDelta, runConfig, attestation, priority, traceparent } = given;
  if (agent !== undefined) checkName('agent', agent);
  if (rootAgent !== undefined) checkName('rootAgent', rootAgent);
  if (isTooDeep([message, stateDelta, ownCall?.question])) {
    throw invalid('message', `${tooDeepText()}, with its stateDelta`);
  }
  const reserved = reservedKeyIn(stateDelta);
  if (reserved !== undefined) throw invalid('stateDelta', reservedKeyText(reserved));
  const bytes = jsonBytes([message, stateDelta, ownCall?.args, ownCall?.question]);
  if (bytes > PAYLOAD_LIMIT) {
    const problem = `${bytes} bytes of JSON with its stateDelta, at most ${PAYLOAD_LIMIT} travel through Temporal`;
    throw invalid('message', `${problem}: put the content where a tool of the agent reads it`);
  }
  return {
    workflowId: workflowIdOf(app, userId, sessionId),
    invocationId: invocationIdOf(app, userId, sessionId, messageId),
    start: {
      v: PROTOCOL_VERSION,
      ...{ app, userId, sessionId, messageId, message },
      ...defined({ agent, rootAgent, stateDelta, runConfig, attestation, priority, traceparent, ownCall }),
    },
  };
}

function invalidTurn(of: string, field: string, problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`${of}: ${field}: ${problem}`, 'InvalidTurn', { field });
}
