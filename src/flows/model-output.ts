import type { LlmAgent } from '../agents/llm-agent.ts';
import { isTooDeep, tooDeepText } from '../contract/message-limits.ts';
import type { FunctionCall } from '../events/content.ts';
import { type JsonValue, JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import {
  modelResponseOf,
  modelResponsePath,
  SET_MODEL_RESPONSE,
} from '../tools/built-in/set-model-response-tool.ts';

/** The value of an agent's answer, for readers of values instead of text. */
export interface ModelOutput {
  /** For the agent's `outputKey`. */
  state: unknown;
  /** The answer's value, where it is what the agent's `outputSchema` asks for. */
  output?: { value: unknown };
  /** Why it isn't; without its values. */
  problem?: string;
}

/**
 * The value of a final text. Semantics: `maybeSaveOutputToState` of `@google/adk` 2.0.0: text that is no JSON stays text, and
 * a value that the schema refuses stays as it was said.
 */
export async function modelOutputOf(agent: LlmAgent, text: string): Promise<ModelOutput> {
  if (agent.outputSchema === undefined) return { state: text };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { state: text, problem: 'it is no JSON' };
  }
  if (isTooDeep(value)) return { state: text, problem: tooDeepText() };
  try {
    return { state: jsonOr(value, await agent.validateOutput(value)), output: { value } };
  } catch (error) {
    return { state: value, problem: thrownMessage(error) };
  }
}

/** The first valid answer among the calls of `set_model_response`, or of `finish_task`, in a response, or the problem of each call. */
export async function answerBySchema(
  agent: LlmAgent,
  calls: readonly FunctionCall[],
): Promise<{ text: string } | { errors: ReadonlyMap<FunctionCall, string> }> {
  if (agent.mode === 'task') return await answerOfTask(agent, calls);
  const { outputJsonSchema } = agent;
  const errors = new Map<FunctionCall, string>();
  if (outputJsonSchema === undefined) return { errors };
  for (const call of calls) {
    if (call.name !== SET_MODEL_RESPONSE) continue;
    const value = modelResponseOf(outputJsonSchema, call.args ?? {});
    try {
      // A schema that admits nothing at all would make an answer without any text of it.
      if (value === undefined) throw new TypeError(`${modelResponsePath(outputJsonSchema)}: required`);
      await agent.validateOutput(value);
      return { text: JSON.stringify(value) };
    } catch (error) {
      const problem = thrownMessage(error);
      errors.set(
        call,
        `Invoking \`${SET_MODEL_RESPONSE}()\` failed due to validation errors: ${problem}\n` +
          'You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.',
      );
    }
  }
  return { errors };
}

/** The result of a task by a call of `finish_task`, which ends it alone: other calls would never run. */
async function answerOfTask(
  agent: LlmAgent,
  calls: readonly FunctionCall[],
): ReturnType<typeof answerBySchema> {
  const { finishTaskTool: finish, outputSchema } = agent;
  const errors = new Map<FunctionCall, string>();
  for (const call of calls.filter(({ name }) => name === finish.name)) {
    const { args = {} } = call;
    const alone = `Call \`${finish.name}\` alone, after the results of the other calls.`;
    const problem = calls.length > 1 ? alone : await finish.problemOf(args);
    if (problem !== undefined) errors.set(call, problem);
    else return { text: outputSchema ? JSON.stringify(finish.extractOutput(args)) : String(args.result) };
  }
  return { errors };
}

/** Schemas may transform a value into one that JSON has no form for. */
function jsonOr(value: unknown, transformed: unknown): JsonValue | unknown {
  try {
    return toJsonValue(transformed) ?? value;
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    return value;
  }
}
