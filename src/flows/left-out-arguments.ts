import { isTooDeep, tooDeepText } from '../contract/message-limits.ts';
import type { FunctionCall, Part } from '../events/content.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { problemOfArguments, unreadableArguments } from '../models/unreadable-arguments.ts';

const PROBLEM = tooDeepText();

/**
 * A model's response without arguments that are nested too deeply to be stored, shown or sent again. Their calls stay and are
 * answered by {@link leftOutProblem}, so that the model can call again.
 */
export function withoutDeepArguments(response: LlmResponse): LlmResponse {
  if (!isTooDeep(response.content)) return response;
  const { content, ...rest } = response;
  const parts = content?.parts?.map(bounded);
  return { ...rest, ...(parts === undefined ? {} : { content: { ...content, parts } }) };
}

/** @throws TypeError where anything is nested so deeply that is no argument of a call. */
export function assertWalkable(response: LlmResponse): void {
  const { content, ...rest } = response;
  const others = content?.parts?.map((part) =>
    part?.functionCall ? { ...part, functionCall: { ...part.functionCall, args: {} } } : part,
  );
  if (isTooDeep({ ...rest, others })) {
    throw new TypeError(`${PROBLEM}, outside of the arguments of its calls`);
  }
}

/** The problem of a call whose arguments were left out, or were none; undefined for any other. */
export function leftOutProblem({ name = '', args }: FunctionCall): string | undefined {
  const problem = problemOfArguments(args);
  if (problem === undefined) return undefined;
  const advice = problem === PROBLEM ? 'flatter ones' : 'other ones';
  return `Error in tool '${name}': invalid arguments: ${problem}: call it again with ${advice}`;
}

function bounded(part: Part): Part {
  // Some providers and user code write null for what isn't there.
  const { functionCall } = part ?? {};
  if (functionCall === undefined || functionCall === null || !isTooDeep(functionCall.args)) return part;
  return { ...part, functionCall: { ...functionCall, args: unreadableArguments(PROBLEM) } };
}
