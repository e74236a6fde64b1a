import type { WorkflowInfo } from '@temporalio/workflow';
import { invocationIdOf } from '../src/protocol/identity.ts';
import type { AgentTurnStart, TurnUsage } from '../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';

/** What a turn carries from run to run: everything that the next step needs and nothing that the store knows. */
export interface TurnState {
  v: number;
  messageId: string;
  invocationId: string;
  /** Start of the chain's first run, milliseconds since the epoch. */
  chainStartedAt: number;
  session: string | undefined;
  agent: string | undefined;
  model: string | undefined;
  /** Last step that answered; 0 before the first. */
  step: number;
  seq: number;
  from: number;
  usage: TurnUsage;
}

export function initialState(start: AgentTurnStart, info: WorkflowInfo): TurnState {
  // A reset changes the run id; the message must stay the same message.
  const messageId = start.messageId ?? info.originalExecutionRunId;
  return {
    v: PROTOCOL_VERSION,
    messageId,
    invocationId: invocationIdOf(start.app, start.userId, start.sessionId, messageId),
    chainStartedAt: info.startTime.getTime(),
    session: undefined,
    agent: start.agent,
    model: undefined,
    step: 0,
    seq: 0,
    from: 0,
    usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
  };
}
