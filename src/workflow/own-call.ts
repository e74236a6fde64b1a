import { sleep, uuid4, workflowInfo } from '@temporalio/workflow';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import type { OwnCall, TurnResult } from '../protocol/turn.ts';
import { assertCompleted } from './agent-turn-errors.ts';
import { runChild } from './child-turn.ts';
import { type AgentTurn, outgoingTurn } from './outgoing-turn.ts';

/** Between two looks whether the session's turn has ended, milliseconds. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** What {@link confirm} and {@link job} have in common: whose turn it is, and where. */
export interface OwnCallPlace
  extends Pick<
    AgentTurn,
    'app' | 'userId' | 'taskQueue' | 'messageId' | 'parentClosePolicy' | 'attestation' | 'priority'
  > {
  /**
   * The session in whose transcript it stands; where that answers a message, it waits for its turn.
   *
   * @default one of its own, named after this workflow
   */
  sessionId?: string;
}

/** A call that has run as a turn of its own. */
export interface RanCall {
  sessionId: string;
  taskQueue: string;
  result: TurnResult;
}

/** @throws AgentTurnFailed, AgentTurnInterrupted, and ApplicationFailure of type `InvalidTurn`. */
export async function runOwnCall(
  place: OwnCallPlace,
  turn: Pick<AgentTurn, 'agent' | 'message' | 'stateDelta'>,
  ownCall: OwnCall,
): Promise<RanCall> {
  const { taskQueue = DEFAULT_TASK_QUEUE } = place;
  const sessionId = place.sessionId ?? `${workflowInfo().workflowId}/${uuid4()}`;
  const outgoing = outgoingTurn({ ...place, ...turn, sessionId }, ownCall);
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const result = await runChild(outgoing, { ...place, ...turn, taskQueue });
    if (result !== undefined) {
      assertCompleted(result);
      return { sessionId, taskQueue, result };
    }
    await sleep(pause, { summary: `${sessionId} answers a message`.slice(0, 60).toWellFormed() });
  }
}
