import { ApplicationFailure } from '@temporalio/common';
import type { ErrorCode } from '../contract/error-codes.ts';
import { defined } from '../protocol/json.ts';
import type { Reference } from '../protocol/sizes.ts';
import type { AgentTurn } from './checked-turn.ts';
import { type OwnCallPlace, responseOf, runOwnCall } from './own-call.ts';

/** Options of {@link job}. */
export interface ToolJob extends OwnCallPlace, Pick<AgentTurn, 'stateDelta'> {
  /** A tool of an agent that Holdfast's workers have. */
  tool: string;
  /** At most 64 KiB of JSON. @default none */
  args?: Record<string, unknown>;
  /** Agent with the tool. @default the agent of the app's tree whose turn it is */
  agent?: string;
  /** Text of the call in the session's transcript. @default the tool's name */
  message?: string;
}

/** Result of {@link job}. */
export interface EndedJob<Result = Record<string, unknown>> {
  /** The tool's result, or the reported outcome of its job; absent where {@link reference} stands in its place. */
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
    const message = `${tool}: ${typeof error === 'string' ? error : JSON.stringify(error)}`;
    super(message, 'JobFailed' satisfies ErrorCode, true, [response]);
    this.response = response;
  }
}

const NOT_RUN = 'it has not run: a plugin or a callback has ended its turn before';

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
    ...defined({ agent, stateDelta }),
  };
  const ran = await runOwnCall(given, turn, { tool, args });
  const { sessionId, result } = ran;
  const ended = { sessionId, invocationId: result.invocationId };
  const { response, reference } = await responseOf(given, ran);
  if (reference !== undefined) return { ...ended, reference };
  if (response === undefined) throw new JobFailed(tool, { error: NOT_RUN });
  if (Object.hasOwn(response, 'error')) throw new JobFailed(tool, response);
  return { ...ended, result: response as Result };
}
