import { coversTerms } from '../approvals/edited-terms.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { toJsonValue } from '../schema/json-value.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import { type ResolvedApproval, resolveApproval } from './approval-options.ts';
import type { BaseTool, RunAsyncToolRequest } from './base-tool.ts';
import { type Context, questionsOf } from './context.ts';
import { shortHint } from './input-request.ts';
import { isToolError, ToolError } from './tool-error.ts';

const PLANNED_ONLY = Symbol.for('holdfast.plannedOnly');

/**
 * Has calls of a tool run only as the store has them planned. It does what its arguments say with the user's data or the worker, and any
 * program with Temporal access can make up a call.
 */
export function plannedOnly<Tool extends BaseTool>(tool: Tool): Tool {
  return Object.defineProperty(tool, PLANNED_ONLY, { value: true });
}

export function isPlannedOnly(tool: BaseTool): boolean {
  return PLANNED_ONLY in tool;
}

/** The question to a person about a call. */
export interface Question {
  hint: string;
  /** JSON. */
  payload?: unknown;
  /** Rules of this call's decision; left out if the tool's own terms hold. */
  terms?: ResolvedApproval;
}

/**
 * Asks a tool's flag, predicate or provider whether a call waits for a person's approval. The function gets a copy: it can't change
 * what is then run. Anything but a clear no asks.
 *
 * @returns undefined where the call needs no approval.
 * @throws InvalidArgumentsError where the arguments don't match the tool's parameters.
 * @throws ToolError (not retryable) naming what threw: the call must not run.
 */
export async function questionOf(
  tool: BaseTool,
  args: Record<string, unknown>,
  context: Context,
): Promise<Question | undefined> {
  const confirmation = tool.gate?.confirmation;
  if (confirmation === undefined) return undefined;
  const { when, by } = confirmation;
  const option = by === 'provider' ? 'requireConfirmationProvider' : 'requireConfirmation';
  const answer =
    when === 'always' ? true : await asked(tool, option, args, (copy) => when(copy as never, context));
  if (answer === false) return undefined;
  const { hint, payload, approval }: Record<string, unknown> = isRecord(answer) ? answer : {};
  const json = payload === undefined ? undefined : jsonOption(tool, `${option}: payload`, payload);
  return {
    hint: shortHint(typeof hint === 'string' && hint !== '' ? hint : await hintOf(tool, args)),
    ...defined({ payload: json }),
    ...(approval === undefined ? {} : { terms: termsOfCall(tool, option, approval) }),
  };
}

/** The tool's own text about a call that waits. */
export async function hintOf(tool: BaseTool, args: Record<string, unknown>): Promise<string> {
  const hint = tool.gate?.confirmation?.hint;
  const words = hint && (await asked(tool, 'confirmationHint', args, (copy) => hint(copy as never)));
  return typeof words === 'string' && words !== '' ? words : defaultHint(tool.name);
}

/** Text of `@google/adk` 2.0.0. */
export function defaultHint(toolName: string): string {
  return (
    `Please approve or reject the tool call ${toolName}() by responding with a FunctionResponse with an expected ` +
    'ToolConfirmation payload.'
  );
}

/** Rules of decisions about calls of this tool. Its requests are stored with them, unless the call has terms of its own. */
export function approvalTermsOf(tool: BaseTool): ResolvedApproval {
  return tool.gate?.approval ?? {};
}

/** A call with unreadable terms asks nobody: it is answered with the error. */
function termsOfCall(tool: BaseTool, option: string, approval: unknown): ResolvedApproval {
  try {
    const { sensitive } = tool.durable;
    if (!isRecord(approval)) return resolveApproval('', 'approval', approval, sensitive);
    const given = Object.entries(approval).filter(([, value]) => value !== undefined);
    return resolveApproval(
      '',
      'approval',
      { ...approvalTermsOf(tool), ...Object.fromEntries(given) },
      sensitive,
    );
  } catch (error) {
    throw unasked(tool, option, error);
  }
}

/**
 * Digest of the facts on which an approval relies: the tool's name, gate, approvers, parameters and credential, and the definition of a
 * server's tool. A tool with another digest than at its approval isn't run.
 */
export function gateDigestOf(tool: BaseTool): string {
  const { confirmation, approval = {}, credential } = tool.gate ?? {};
  return digestOf({
    name: tool.name,
    by: confirmation?.by ?? null,
    approval,
    parameters: tool.describe().inputSchema ?? null,
    authConfig: credential?.authConfig ?? null,
    ...defined({ definition: tool.definitionDigest }),
  });
}

async function asked(
  tool: BaseTool,
  option: string,
  args: Record<string, unknown>,
  ask: (copy: unknown) => unknown,
): Promise<unknown> {
  const copy = await tool.readArguments(structuredClone(args));
  try {
    return await ask(copy);
  } catch (error) {
    throw unasked(tool, option, error);
  }
}

function jsonOption(tool: BaseTool, option: string, value: unknown): unknown {
  try {
    return toJsonValue(value);
  } catch (error) {
    throw unasked(tool, option, error);
  }
}

function unasked(tool: BaseTool, option: string, cause: unknown): ToolError {
  const code = isToolError(cause) ? cause.code : 'HOLDFAST_GATE_FAILED';
  const message = `Error in tool '${tool.name}': ${option}: ${thrownMessage(cause)}`;
  return new ToolError(message, { code, retryable: false, cause });
}

/**
 * Asks for a gated tool that is run by another tool, and not as a call: no gate was passed for it. Texts and order: `FunctionTool`
 * of `@google/adk` 2.0.0.
 *
 * @returns the response in place of a run; undefined where the tool may run.
 */
export async function keptFromRunning(
  tool: BaseTool,
  { args, toolContext }: RunAsyncToolRequest,
): Promise<{ error: string } | undefined> {
  const questions = questionsOf(toolContext);
  if (tool.gate?.confirmation === undefined || questions.passed === tool.gate) return undefined;
  const question = await questionOf(tool, args, toolContext);
  if (question === undefined) return undefined;
  const { toolConfirmation, actions } = toolContext;
  const terms = question.terms ?? approvalTermsOf(tool);
  // An approval of the tool that runs it is good for it, too, unless others have to give it.
  const isOthers = toolConfirmation?.confirmed === true && !coversTerms(questions.terms ?? {}, terms);
  if (toolConfirmation === undefined || isOthers) {
    toolContext.requestConfirmation(question);
    // Those who may decide about this tool are asked, not those of the tool that runs it.
    if (Object.keys(terms).length > 0) {
      questions.ask({ kind: 'confirmation', ...question, terms });
    }
    actions.skipSummarization = true;
    return { error: 'This tool call requires confirmation, please approve or reject.' };
  }
  return toolConfirmation.confirmed === true ? undefined : { error: REJECTED };
}

/** The model's text for a call that a person has refused. Text of `@google/adk` 2.0.0. */
export const REJECTED = 'This tool call is rejected.';
