import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import {
  type AgentAnswer,
  type AgentTurn,
  AgentTurnFailed,
  AgentTurnInterrupted,
  AgentTurnRejected,
  type Confirmation,
  confirm,
  type EndedJob,
  handleConfirm,
  JobFailed,
  job,
  type Question,
  runAgent,
  type ToolJob,
} from '../../src/workflow/index.ts';

/** Workflows as users write them, in a bundle of their own. */

export async function asks(turn: AgentTurn): Promise<AgentAnswer> {
  return await runAgent(turn);
}

/** One turn after another in a session. */
export async function asksOften(turn: AgentTurn, messages: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  for (const message of messages) texts.push((await runAgent({ ...turn, message })).text);
  return texts;
}

/** All at once, each in a session of its own. */
export async function asksMany(turn: AgentTurn, count: number): Promise<string[]> {
  const sessions = Array.from({ length: count }, (_, index) => `${turn.sessionId}-${index}`);
  const answers = await Promise.all(sessions.map((sessionId) => runAgent({ ...turn, sessionId })));
  return answers.map(({ text }) => text);
}

export async function asksAndGoesOn(turn: AgentTurn, left: number, texts: string[] = []): Promise<string[]> {
  const { text } = await runAgent({ ...turn, message: `run ${left}` });
  const said = [...texts, text];
  if (left > 1) await continueAsNew<typeof asksAndGoesOn>(turn, left - 1, said);
  return said;
}

export interface Told {
  error: string;
  type?: string | null | undefined;
  message?: string;
  turn?: unknown;
}

/** What is thrown, by its class. */
export async function tellsFailure(turn: AgentTurn): Promise<Told | AgentAnswer> {
  try {
    return await runAgent(turn);
  } catch (error) {
    if (error instanceof AgentTurnFailed) return { error: 'failed', type: error.type, turn: error.turn };
    if (error instanceof AgentTurnInterrupted)
      return { error: 'interrupted', type: error.type, turn: error.turn };
    if (error instanceof AgentTurnRejected)
      return { error: 'rejected', type: error.type, message: error.message };
    return { error: isCancellation(error) ? 'cancelled' : 'other', message: String(error) };
  }
}

export const stop = defineSignal('stop');

/** Cancels the turn, and goes on itself. */
export async function givesUp(turn: AgentTurn): Promise<Told | AgentAnswer> {
  const scope = new CancellationScope();
  setHandler(stop, () => scope.cancel());
  return await scope.run(() => tellsFailure(turn));
}

/** Fails while a turn runs. */
export async function failsMeanwhile(turn: AgentTurn): Promise<void> {
  let stopped = false;
  setHandler(stop, () => {
    stopped = true;
  });
  await Promise.race([
    runAgent(turn),
    condition(() => stopped).then(() => {
      throw new AgentTurnFailed({ invocationId: '', status: 'failed' });
    }),
  ]);
}

/** Returns when its own turn ends, whatever else its session answers. */
export async function asksAmongOthers(turn: AgentTurn): Promise<string> {
  const { text } = await runAgent({ ...turn, parentClosePolicy: 'ABANDON' });
  return text;
}

export async function asksPeople(question: Question): Promise<Confirmation> {
  handleConfirm();
  return await confirm(question);
}

/** Two questions at once. */
export async function asksTwice(question: Question): Promise<boolean[]> {
  handleConfirm();
  const answers = await Promise.all([confirm(question), confirm(question)]);
  return answers.map(({ confirmed }) => confirmed);
}

/** Takes its question back when it is told to stop. */
export async function asksInVain(question: Question): Promise<string> {
  const scope = new CancellationScope();
  setHandler(stop, () => scope.cancel());
  try {
    await scope.run(() => confirm(question));
    return 'answered';
  } catch (error) {
    if (isCancellation(error)) return 'taken back';
    throw error;
  }
}

export async function runsJob(given: ToolJob): Promise<EndedJob> {
  return await job(given);
}

export async function tellsJobFailure(given: ToolJob): Promise<unknown> {
  try {
    return await job(given);
  } catch (error) {
    if (error instanceof JobFailed) return { response: error.response, message: error.message };
    throw error;
  }
}
