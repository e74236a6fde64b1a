import { sleep, uuid4 } from '@temporalio/workflow';
import { defined, isRecord } from '../protocol/json.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import type { Reference } from '../protocol/sizes.ts';
import type { OwnCall, TurnResult } from '../protocol/turn.ts';
import { readAnswer } from './agent-answer.ts';
import { assertCompleted } from './agent-turn-errors.ts';
import { type AgentTurn, type CheckedTurn, checkedTurn } from './checked-turn.ts';
import { type ChildOptions, runChildTurn } from './child-turn.ts';

/** Between two looks whether the session's turn has ended, milliseconds. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

/** Common options of {@link confirm} and {@link job}: names of the turn, and its task queue. */
export interface OwnCallPlace
  extends Pick<AgentTurn, 'app' | 'userId' | 'taskQueue' | 'messageId' | 'parentClosePolicy' | 'priority'> {
  /**
   * The session in whose transcript it stands; where that answers a message, it waits for its turn.
   *
   * @default one of its own
   */
  sessionId?: string;
}

/** A call that has run as a turn of its own. */
export interface RanCall {
  sessionId: string;
  taskQueue: string;
  result: TurnResult;
}

type AroundTurn = (turn: CheckedTurn, work: () => Promise<TurnResult>) => Promise<TurnResult>;

/** @throws AgentTurnFailed, AgentTurnInterrupted, and ApplicationFailure of type `InvalidTurn`. */
export async function runOwnCall(
  place: OwnCallPlace,
  turn: Pick<AgentTurn, 'agent' | 'message' | 'stateDelta'>,
  ownCall: OwnCall,
  around: AroundTurn = (_turn, work) => work(),
): Promise<RanCall> {
  const { taskQueue = DEFAULT_TASK_QUEUE } = place;
  const sessionId = place.sessionId ?? uuid4();
  const outgoing = checkedTurn({ ...place, ...turn, sessionId }, ownCall);
  const result = await around(outgoing, () => runOnceIdle(outgoing, { ...place, ...turn, taskQueue }));
  assertCompleted(result);
  return { sessionId, taskQueue, result };
}

async function runOnceIdle(turn: CheckedTurn, options: ChildOptions): Promise<TurnResult> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const result = await runChildTurn(turn, options);
    if (result !== undefined) return result;
    const summary = `${turn.start.sessionId} answers a message`.slice(0, 60).toWellFormed();
    await sleep(pause, { summary });
  }
}

/** The outcome of the call, or the placeholder of an outcome that may not travel. */
export async function responseOf(
  { app, userId }: OwnCallPlace,
  { sessionId, taskQueue, result }: RanCall,
): Promise<{ response?: Record<string, unknown>; reference?: Reference }> {
  const { output } = result;
  if (output !== undefined && 'value' in output) return { response: output.value as Record<string, unknown> };
  const reference = output?.ref;
  if (reference !== undefined && isWithheld(reference)) return { reference };
  // One that no activity has given back is in the transcript only.
  const place = { app, userId, sessionId, taskQueue, content: reference === undefined };
  const { value, content } = await readAnswer(place, result, reference);
  const response = value ?? content?.parts?.[0]?.functionResponse?.response;
  if (isRecord(response)) return { response };
  return defined({ reference });
}

/** A value that its tool withholds has no digest: guesses would reveal a short secret. */
function isWithheld({ digest }: Reference): boolean {
  return digest === '';
}
