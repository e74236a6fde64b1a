import type { LlmAgent } from '../agents/llm-agent.ts';
import type { BaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import { findCode } from '../code-executors/code-parts.ts';
import { codeTool } from '../code-executors/code-tool.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import { type FunctionCall, type Part, textOf } from '../events/content.ts';
import { createEventActions, type EventActions } from '../events/event-actions.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { isRecord } from '../protocol/json.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import { presentFields } from '../schema/copy-plain.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { NewRequest } from '../store/approvals/approval-store.ts';
import type { DraftEvent } from '../store/sessions/session-store.ts';
import type { NewEvent } from '../store/turns/step-store.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { requestInputTool } from '../tools/built-in/question-tools.ts';
import { nameCalls, type TakenCallIds } from './call-ids.ts';
import { assertWalkable, leftOutProblem, withoutDeepArguments } from './left-out-arguments.ts';
import { answerBySchema, modelOutputOf } from './model-output.ts';
import { type CallPlan, callsOf, type FunctionCallOfStep, planCalls } from './plan-calls.ts';
import { requestEvent } from './request-event.ts';
import { type AskedStep, type StepDraft, shortened } from './step-draft.ts';

/** A response that counts, and its known origin. */
export interface GivenResponse {
  response: LlmResponse;
  usage: TurnUsage;
  /** Events of callbacks and processors, which are stored before the model's. */
  events: NewEvent[];
  /** The actions of callbacks, processors, tools and the planner, as JSON; called last. */
  actions: () => EventActions | undefined;
  /** Those of the request. */
  tools: ReadonlyMap<string, BaseTool>;
  /** A task that is below another agent: its text is a question to a person. */
  asksPeople?: boolean;
  /** Runs the code of the response; undefined where nobody does. */
  codeExecutor: BaseCodeExecutor | undefined;
  toolEdits: readonly ToolEdit[] | undefined;
  /** The client answers the calls. */
  pauses: boolean;
  /** The activity goes on with the next step where all calls have run in it. */
  chains?: boolean;
  /** Asks user code about calls that may have to wait for people; undefined where no tool of the request has a gate. */
  prepare?: ((calls: readonly FunctionCallOfStep[]) => Promise<PreparedCalls>) | undefined;
  /** The parts as the agent's planner changes them. */
  planned: ((parts: readonly Part[]) => Part[] | undefined) | undefined;
}

/** The calls of a response, all of them in their order, as user code has prepared them, and what people are asked first. */
export interface PreparedCalls {
  calls: readonly FunctionCallOfStep[];
  /** By the key of the call. */
  requests: ReadonlyMap<string, NewRequest>;
}

/**
 * The step that a response asks for: its calls, or the end of the turn.
 *
 * @throws JsonValueError for metadata that can't be stored. TypeError for a response that is nested too deeply to be walked.
 */
export async function draftFromResponse(
  asked: AskedStep,
  agent: LlmAgent,
  given: GivenResponse,
  takenCallIds: TakenCallIds,
): Promise<StepDraft> {
  const { usage, tools, codeExecutor } = given;
  const response = presentFields(withoutDeepArguments(given.response));
  assertWalkable(response);
  const whole = partsOf(response);
  const isThought = thoughtsOf(whole);
  const planned = given.planned?.(whole) ?? whole;
  const bySchema =
    tools.has('set_model_response') || agent.mode === 'task'
      ? await answerBySchema(agent, functionCallsOf(planned))
      : { errors: NO_ERRORS };
  const answered = 'text' in bySchema;
  const errors = answered ? NO_ERRORS : bySchema.errors;
  const errorAt = functionCallsOf(planned).map((call) => leftOutProblem(call) ?? errors.get(call));
  const found =
    answered || codeExecutor === undefined ? undefined : findCode(codeExecutor, planned, isThought);
  const question = answered || found !== undefined ? undefined : questionOf(agent, given, response, planned);
  const words = answered ? [{ text: bySchema.text }] : (found?.parts ?? planned);
  const said = question === undefined ? words : [...words, question];
  const { parts } = nameCalls(said, asked.runKey, asked.step, takenCallIds);
  const code = codeExecutor === undefined || found === undefined ? undefined : codeTool(codeExecutor);
  const calls: FunctionCallOfStep[] = [
    ...withErrors(callsOf(parts, undefined), errorAt),
    ...(code === undefined || found === undefined ? [] : [{ callId: '', name: code.name, args: found.code }]),
  ];
  const failed = calls.length === 0 && response.errorCode !== undefined;
  // The provider has run code, and the model has yet to say what it makes of the result.
  const goesOn = !failed && calls.length === 0 && parts.at(-1)?.codeExecutionResult !== undefined;
  // An answered call takes no other answer.
  const pauses =
    given.pauses &&
    question === undefined &&
    calls.some((call) => call.callId !== '' && call.response === undefined);
  const event: DraftEvent = {
    ...fieldsOf(response),
    ...(response.content === undefined && question === undefined
      ? {}
      : { content: { ...response.content, role: 'model', parts } }),
    invocationId: asked.invocationId,
    author: asked.agent,
    ...longRunning(calls, tools),
    actions: await actionsOf(agent, given.actions(), {
      answered,
      text: calls.length === 0 && !failed && !goesOn ? textOf({ parts }) : '',
    }),
  };
  const events: NewEvent[] = [
    ...given.events,
    { kind: failed && parts.length === 0 ? 'error' : 'model', event },
  ];
  if (failed) return { asked, events, usage, error: errorOf(response) };
  if (calls.length === 0 && !goesOn) return { asked, events, usage };
  if (pauses) return { asked, events, usage, cut: 'agent' };
  const prepared = await given.prepare?.(calls);
  const caller = { ...asked, name: asked.agent };
  const plan = planCalls(asked.runKey, asked.step, prepared?.calls ?? calls, tools, code, caller);
  const { maxParallelCalls } = agent.durable;
  const chain = given.chains ? (true as const) : undefined;
  const runs = { ...plan, maxParallelCalls, chain, toolEdits: given.toolEdits };
  const requests = prepared === undefined ? [] : requestsIn(plan, prepared);
  if (requests.length === 0) return { asked, events, usage, plan: runs };
  const asks: NewEvent = { kind: 'request', event: requestEvent(requests, event) };
  return { asked, events: [...events, asks], usage, plan: { ...runs, requests } };
}

/** The call that asks a person what a task has said without a call; undefined if it has not. */
function questionOf(
  agent: LlmAgent,
  { asksPeople }: GivenResponse,
  { errorCode }: LlmResponse,
  parts: readonly Part[],
): Part | undefined {
  const isCall = functionCallsOf(parts).length > 0 || parts.at(-1)?.codeExecutionResult !== undefined;
  if (agent.mode !== 'task' || !asksPeople || errorCode !== undefined || isCall) return undefined;
  const message =
    textOf({ parts: [...parts] }).trim() ||
    `${agent.name} has neither asked nor finished its task: how should it go on?`;
  return { functionCall: { name: requestInputTool.name, args: { message } } };
}

/** Those of calls that the plan has room for. */
function requestsIn({ calls }: CallPlan, { requests }: PreparedCalls): NewRequest[] {
  return calls.flatMap(({ callKey, gate }) => {
    const request = gate === undefined ? undefined : requests.get(callKey);
    return request === undefined ? [] : [request];
  });
}

const NO_ERRORS: ReadonlyMap<FunctionCall, string> = new Map();

function partsOf({ content }: LlmResponse): Part[] {
  return (content?.parts ?? []).filter((part) => typeof part === 'object' && part !== null).map(present);
}

/** Other providers, and user code, write null for what isn't there. */
function present(given: Part): Part {
  const part = presentFields(given);
  // It says nothing at all, which is refused where it is read.
  if (Object.keys(part).length === 0) return given;
  if (part.functionCall === undefined) return part;
  const functionCall = presentFields(part.functionCall);
  return functionCall === part.functionCall ? part : { ...part, functionCall };
}

/** Thoughts of the model itself: a part that a planner marks as a thought may be a plan that its code runs. */
function thoughtsOf(parts: readonly Part[]): (part: Part) => boolean {
  const thoughts = new Set(parts.filter(({ thought }) => thought).map(({ text }) => text));
  return ({ thought, text }) => thought === true && thoughts.has(text);
}

function functionCallsOf(parts: readonly Part[]): FunctionCall[] {
  return parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]));
}

/** Calls that are answered without being run. */
function withErrors(
  calls: readonly FunctionCallOfStep[],
  errorAt: readonly (string | undefined)[],
): FunctionCallOfStep[] {
  return calls.map((call, index) => {
    const error = errorAt[index];
    return error === undefined ? call : { ...call, response: { error } };
  });
}

/** Own fields of the response, that of a piece of a stream left out. */
function fieldsOf(response: LlmResponse): Omit<LlmResponse, 'partial'> {
  const { partial: _partial, ...fields } = response;
  const { customMetadata } = fields;
  if (customMetadata === undefined || customMetadata === null) return fields;
  return { ...fields, customMetadata: metadataOf(customMetadata) };
}

/** Refuses a value that JSON would drop or could not write, with its place. */
function metadataOf(customMetadata: unknown): Record<string, unknown> {
  if (!isRecord(customMetadata)) {
    throw new JsonValueError(['customMetadata'], `expected an object, got ${kindOf(customMetadata)}`);
  }
  try {
    return toJsonValue(customMetadata) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new JsonValueError(['customMetadata', ...error.at], error.problem, { cause: error });
  }
}

function longRunning(
  calls: readonly FunctionCallOfStep[],
  tools: ReadonlyMap<string, BaseTool>,
): Pick<DraftEvent, 'longRunningToolIds'> {
  const ids = calls.filter(({ callId, name }) => callId !== '' && tools.get(name)?.isLongRunning);
  return ids.length === 0 ? {} : { longRunningToolIds: ids.map(({ callId }) => callId) };
}

async function actionsOf(
  agent: LlmAgent,
  given: EventActions | undefined,
  { text, answered }: { text: string; answered: boolean },
): Promise<EventActions> {
  const actions = createEventActions(given);
  if (answered) actions.skipSummarization = true;
  const { outputKey } = agent;
  const isEmpty = agent.outputSchema === undefined ? text === '' : text.trim() === '';
  if (outputKey === undefined || isEmpty) return actions;
  const { state } = await modelOutputOf(agent, text);
  return { ...actions, stateDelta: { ...actions.stateDelta, [outputKey]: state } };
}

function errorOf({ errorCode, errorMessage }: LlmResponse): { code: string; message: string } {
  const code = String(errorCode ?? 'UNKNOWN');
  return shortened({ code, message: errorMessage || `the model stopped with ${code}` });
}
