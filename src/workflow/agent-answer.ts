import { scheduleActivity } from '@temporalio/workflow';
import type { TurnUsage } from '../contract/sessions.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import type { Content } from '../events/content.ts';
import { RESULTS } from '../protocol/activity-results.ts';
import { READ_ANSWER } from '../protocol/names.ts';
import type { ReadAnswer, ReadAnswerInput } from '../protocol/own-workflow.ts';
import type { Reference } from '../protocol/sizes.ts';
import type { TurnResult } from '../protocol/turn.ts';
import { turnActivityOptions, usable } from './activities.ts';
import { assertCompleted } from './agent-turn-errors.ts';

/** Result of {@link runAgent}. */
export interface AgentAnswer<Output = unknown> {
  status: 'completed';
  /** The final answer; empty where the agent has said none, and where it is larger than 64 KiB of JSON. */
  text: string;
  /** For an agent with an output schema: the answer's value, which its `text` is the JSON of. */
  output?: Output;
  /** Of the turn's last event, where `content` asks for it and it has no more than 64 KiB of JSON together with the text. */
  content?: Content;
  /** Where the text is larger than 64 KiB: names it in the store, for clients. */
  reference?: Reference;
  invocationId: string;
  messageId: string;
  /** First and last seq of the turn's events in its session. */
  events: { from: number; to: number };
  usage: TurnUsage;
}

/** Names of the answer's turn, and the place of the data that it refers to. */
export interface AnsweredTurn {
  app: string;
  userId: string;
  sessionId: string;
  messageId: string;
  taskQueue: string;
  content: boolean;
}

/** @throws AgentTurnFailed, AgentTurnInterrupted where there is none. */
export async function answerOfTurn<Output>(
  turn: AnsweredTurn,
  result: TurnResult,
): Promise<AgentAnswer<Output>> {
  assertCompleted(result);
  const { invocationId, events, usage } = result;
  const answer = { status: 'completed' as const, invocationId, messageId: turn.messageId, events, usage };
  const { text = '', output } = result;
  const reference = typeof text === 'string' ? undefined : text;
  const read =
    reference !== undefined || turn.content ? await readAnswer(turn, result, reference) : undefined;
  const told = typeof text === 'string' ? text : textIn(read);
  const value = valueIn(output, told);
  return {
    ...answer,
    text: told ?? '',
    ...(value === undefined ? {} : { output: value.value as Output }),
    ...(read?.content === undefined ? {} : { content: read.content }),
    ...(reference === undefined || told !== undefined ? {} : { reference }),
  };
}

export async function readAnswer(
  { app, userId, sessionId, taskQueue, content }: Omit<AnsweredTurn, 'messageId'>,
  { invocationId, events }: TurnResult,
  reference: Reference | undefined,
): Promise<ReadAnswer> {
  const input: ReadAnswerInput = {
    v: PROTOCOL_VERSION,
    ...{ app, userId, sessionId, invocationId, events },
    ...(reference === undefined ? {} : { key: reference.key }),
    ...(content ? { content } : {}),
  };
  const options = turnActivityOptions({ app, userId, taskQueue }, `answer of ${sessionId}`);
  const read = await scheduleActivity<ReadAnswer>(READ_ANSWER, [input], options);
  return usable(`activity ${READ_ANSWER}`, RESULTS.answer, read);
}

function textIn(read: ReadAnswer | undefined): string | undefined {
  return typeof read?.value === 'string' ? read.value : undefined;
}

/** The content under the key of a reference is the text; the value is what it is the JSON of. */
function valueIn(output: TurnResult['output'], text: string | undefined): { value: unknown } | undefined {
  if (output === undefined) return undefined;
  if ('value' in output) return output;
  return text === undefined ? undefined : { value: JSON.parse(usable('the turn', RESULTS.jsonText, text)) };
}
