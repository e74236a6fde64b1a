import { ApplicationFailure } from '@temporalio/common';
import type { Reference } from '../protocol/carried.ts';
import { readAnswer } from './agent-answer.ts';
import type { AgentTurn } from './outgoing-turn.ts';
import { type OwnCallPlace, type RanCall, runOwnCall } from './own-call.ts';

/** What {@link job} takes. */
export interface ToolJob extends OwnCallPlace, Pick<AgentTurn, 'stateDelta'> {
  /** A tool of an agent that Holdfast's workers have. */
  tool: string;
  /** At most 64 KiB of JSON. @default none */
  args?: Record<string, unknown>;
  /** Whose tool it is. @default the session's last acting agent, then the app's root agent */
  agent?: string;
  /** What the session's transcript says of it. @default the tool's name */
  message?: string;
}

/** What {@link job} gives back. */
export interface EndedJob<Result = Record<string, unknown>> {
  /** What the tool has returned, or whoever has ended its job has said; absent where {@link reference} stands in its place. */
  result?: Result;
  /** Of a result that is larger than 64 KiB of JSON, or that the tool keeps out of histories: names it in the store. */
  reference?: Reference;
  sessionId: string;
  invocationId: string;
}

/** The tool, or its job, has ended with an error: a rejection, a deadline, a cancellation. */
export class JobFailed extends ApplicationFailure {
  readonly response: Record<string, unknown>;

  constructor(tool: string, response: Record<string, unknown>) {
    const { error } = response;
    super(`${tool}: ${typeof error === 'string' ? error : JSON.stringify(error)}`, 'JobFailed', true, [response]);
    this.response = response;
  }
}

/**
 * Runs one tool of an agent, without its model, and waits for what it comes to: for weeks where it is a long-running tool, whose job
 * is ended by a callback, a poll, a person. All that holds for a call of a model holds for it: gates, retries, `once`, hooks.
 *
 * @throws JobFailed where its response is an error.
 * @throws AgentTurnFailed, AgentTurnInterrupted where it has none.
 * @throws ApplicationFailure of type `InvalidTurn`, naming the field.
 * @throws CancelledFailure, or what contains one, where the scope was cancelled; the job is cancelled then.
 * @example
 * const { result } = await job({ app: 'lab', userId: 'ada', tool: 'train', args: { dataset: 'birds' } });
 */
export async function job<Result = Record<string, unknown>>(given: ToolJob): Promise<EndedJob<Result>> {
  const { tool, args = {}, agent, message = tool, stateDelta } = given;
  const turn = {
    message,
    ...(agent === undefined ? {} : { agent }),
    ...(stateDelta === undefined ? {} : { stateDelta }),
  };
  const ran = await runOwnCall(given, turn, { tool, args });
  const { sessionId, result } = ran;
  const ended = { sessionId, invocationId: result.invocationId };
  const { output } = result;
  if (output !== undefined && 'ref' in output && isWithheld(output.ref)) return { ...ended, reference: output.ref };
  const response = output !== undefined && 'value' in output ? output.value : await readResponse(given, ran);
  if (isRecord(response)) {
    if (Object.hasOwn(response, 'error')) throw new JobFailed(tool, response);
    return { ...ended, result: response as Result };
  }
  return output !== undefined && 'ref' in output ? { ...ended, reference: output.ref } : ended;
}

/** What a tool keeps to itself has no digest: that of a short secret could be guessed by trying. */
function isWithheld({ digest }: Reference): boolean {
  return digest === '';
}

/** One that no activity has given back is in the transcript only. */
async function readResponse(
  { app, userId }: ToolJob,
  { sessionId, taskQueue, result }: RanCall,
): Promise<unknown> {
  const { output } = result;
  const place = { app, userId, sessionId, taskQueue, content: output === undefined };
  const read = await readAnswer(place, result, output !== undefined && 'ref' in output ? output.ref : undefined);
  return output === undefined ? read.content?.parts?.[0]?.functionResponse?.response : read.value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
