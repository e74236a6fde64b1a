import { isBuiltInCodeExecutor } from '../../code-executors/built-in-code-executor.ts';
import { codeAsText } from '../../code-executors/code-parts.ts';
import { codedError } from '../../contract/error.ts';
import type { Content } from '../../events/content.ts';
import { takesSchemaWithTools } from '../../models/gemini-generation.ts';
import { appendInstructions, thawRequest } from '../../models/llm-request.ts';
import { isBuiltInPlanner } from '../../planners/planners.ts';
import { defined } from '../../protocol/json.ts';
import { copyPlain } from '../../schema/copy-plain.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import { SET_MODEL_RESPONSE_INSTRUCTION } from '../../tools/built-in/set-model-response-tool.ts';
import { Context } from '../../tools/context.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { ReadonlyContext } from '../../tools/readonly-context.ts';
import {
  addInstructionContents,
  fillInstruction,
  insertInstructionContents,
  staticInstruction,
} from '../instructions.ts';
import { asksModel, type LlmAgentView } from '../llm-agent-view.ts';
import { type BaseLlmRequestProcessor, DirectProcessor, siteOf } from './base-llm-processor.ts';

/**
 * Sets the model, the agent's settings, and its `outputSchema` where the model takes one beside the agent's tools. Semantics:
 * `BasicLlmRequestProcessor` of `@google/adk` 2.0.0, but the schema is sent as JSON Schema.
 */
export class BasicLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent)) return;
    const model = agent.canonicalModel;
    llmRequest.model = model.model;
    llmRequest.config = copyPlain({ ...agent.generateContentConfig });
    const { outputJsonSchema } = agent;
    if (outputJsonSchema === undefined || agent.mode === 'task') return;
    if (hasTools(agent, llmRequest) && !takesSchemaWithTools(model)) return;
    llmRequest.config.responseJsonSchema = outputJsonSchema;
    llmRequest.config.responseMimeType = 'application/json';
  }
}

export const BASIC_LLM_REQUEST_PROCESSOR = new BasicLlmRequestProcessor();

/**
 * Tells the model the agent's name and description, unless no agent can transfer to or from it. Semantics and texts:
 * `IdentityLlmRequestProcessor` of `@google/adk` 2.0.0.
 */
export class IdentityLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (agent === undefined) return;
    const { name, description, subAgents } = agent;
    const isAlone = asksModel(agent) && agent.disallowTransferToParent && agent.disallowTransferToPeers;
    if ((isAlone && subAgents.length === 0) || (asksModel(agent) && agent.mode === 'single_turn')) return;
    appendInstructions(llmRequest, [
      `You are an agent. Your internal name is "${name}".`,
      ...(description === '' ? [] : [`The description about you is "${description}"`]),
    ]);
  }
}

export const IDENTITY_LLM_REQUEST_PROCESSOR = new IdentityLlmRequestProcessor();

/** An instruction provider threw. It is user code that may fail for a while, and is tried again like a model. */
export class InstructionFailed extends codedError('HOLDFAST_INSTRUCTION_FAILED') {}

/**
 * Adds the root's global instruction, the agent's static one, the agent's own, and the one about `set_model_response`.
 * Semantics: `InstructionsLlmRequestProcessor` of `@google/adk` 2.0.0; of the static instruction those of adk-python.
 */
export class InstructionsLlmRequestProcessor extends DirectProcessor {
  override async process(invocationContext: InvocationContext, llmRequest: LlmRequest): Promise<void> {
    const { agent } = invocationContext;
    if (!asksModel(agent)) return;
    const { rootAgent, staticInstruction: parts } = agent;
    const contents = [];
    if (asksModel(rootAgent) && rootAgent.globalInstruction !== '') {
      append(llmRequest, await instructionText(rootAgent, 'globalInstruction', invocationContext));
    }
    if (parts.length > 0) {
      const { text, referred } = staticInstruction(parts);
      append(llmRequest, text);
      contents.push(...referred);
    }
    if (agent.instruction !== '') {
      const text = await instructionText(agent, 'instruction', invocationContext);
      if (parts.length === 0) append(llmRequest, text);
      else if (text !== '') contents.push({ role: 'user', parts: [{ text }] });
    }
    if (contents.length > 0) addInstructionContents(llmRequest, contents);
    if (
      agent.outputJsonSchema !== undefined &&
      agent.mode !== 'task' &&
      hasTools(agent, llmRequest) &&
      !takesSchemaWithTools(agent.canonicalModel)
    ) {
      append(llmRequest, SET_MODEL_RESPONSE_INSTRUCTION);
    }
  }
}

export const INSTRUCTIONS_LLM_REQUEST_PROCESSOR = new InstructionsLlmRequestProcessor();

function append(llmRequest: LlmRequest, text: string): void {
  if (text !== '') appendInstructions(llmRequest, [text]);
}

async function instructionText(
  agent: LlmAgentView,
  field: 'instruction' | 'globalInstruction',
  invocationContext: InvocationContext,
): Promise<string> {
  const given = agent[field];
  const init = InvocationContext.initOf(invocationContext);
  if (typeof given === 'string') {
    return await fillInstruction(given, init.artifacts, init.eventActions?.stateDelta ?? {}, init.state);
  }
  const name = field === 'instruction' ? 'instruction' : 'global instruction';
  let text: unknown;
  try {
    text = await given(new ReadonlyContext({ ...init, invocation: invocationContext }));
  } catch (error) {
    throw new InstructionFailed(`the ${name} of agent ${agent.name} failed: ${thrownMessage(error)}`);
  }
  if (typeof text === 'string') return text;
  throw new InstructionFailed(
    `the ${name} of agent ${agent.name} must be a string, its provider returned ${kindOf(text)}`,
  );
}

/**
 * Sets the contents: the transcript as the agent sees it, by its `includeContents`. They are frozen and shared with later
 * requests until user code gets to see them; the array is the request's own. Semantics: `ContentRequestProcessor` of
 * `@google/adk` 2.0.0.
 */
export class ContentRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void {
    const { agent, branch } = invocationContext;
    if (!asksModel(agent)) return;
    llmRequest.contents = invocationContext.contents({
      agent: agent.name,
      ...defined({ branch }),
      include: agent.includeContents,
    });
    insertInstructionContents(llmRequest);
    // A class that extends this one may edit them.
    if (this.constructor !== ContentRequestProcessor) thawRequest(llmRequest);
  }
}

export const CONTENT_REQUEST_PROCESSOR = new ContentRequestProcessor();

/**
 * Lets the agent's planner set the model's thinking, or add its instruction; for the latter the thoughts of the contents are
 * sent as text, which the plan is made of. Semantics: adk-python.
 */
export class PlanningRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void {
    const { agent } = invocationContext;
    if (!asksModel(agent) || agent.planner === undefined) return;
    const { planner } = agent;
    if (isBuiltInPlanner(planner)) {
      planner.applyThinkingConfig(llmRequest);
      return;
    }
    const init = InvocationContext.initOf(invocationContext);
    const context = new ReadonlyContext({ ...init, invocation: invocationContext });
    const instruction: unknown = planner.buildPlanningInstruction(context, llmRequest);
    if (typeof instruction === 'string') {
      if (instruction !== '') appendInstructions(llmRequest, [instruction]);
    } else if (instruction !== undefined && instruction !== null) {
      const got = instruction instanceof Promise ? 'a promise' : kindOf(instruction);
      throw new TypeError(
        `planner.buildPlanningInstruction must return a string or undefined, returned ${got}`,
      );
    }
    llmRequest.contents = llmRequest.contents.map(withoutThoughtMarks);
  }
}

export const PLANNING_REQUEST_PROCESSOR = new PlanningRequestProcessor();

/** Does nothing: credentials are taken from messages before a turn goes on. Name: `AuthPreprocessor` of `@google/adk` 2.0.0. */
export class AuthPreprocessor extends DirectProcessor {
  override process(): void {}
}
export const AUTH_PREPROCESSOR = new AuthPreprocessor();

function withoutThoughtMarks(content: Content): Content {
  if (!content.parts?.some(({ thought }) => thought !== undefined)) return content;
  return { ...content, parts: content.parts.map(({ thought: _, ...part }) => part) };
}

/**
 * Lets the provider run code, or sends code that ran here, and its results, as text. Semantics:
 * `CodeExecutionRequestProcessor` of `@google/adk` 2.0.0.
 */
export class CodeExecutionRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent) || agent.codeExecutor === undefined) return;
    const { codeExecutor } = agent;
    if (isBuiltInCodeExecutor(codeExecutor)) {
      codeExecutor.processLlmRequest(llmRequest);
      return;
    }
    llmRequest.contents = llmRequest.contents.map((content) => codeAsText(codeExecutor, content));
  }
}

export const CODE_EXECUTION_REQUEST_PROCESSOR = new CodeExecutionRequestProcessor();

/**
 * Lets plugins choose among the tools of the request. Semantics: `ToolFilterRequestProcessor` of `@google/adk` 2.0.0; what the
 * invocation has added is among the tools.
 */
export class ToolFilterRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void | Promise<void> {
    const chooseTools = siteOf(llmRequest)?.chooseTools;
    if (!asksModel(invocationContext.agent) || chooseTools === undefined) return;
    const tools = Object.fromEntries((llmRequest.tools?.list() ?? []).map((tool) => [tool.name, tool]));
    if (Object.keys(tools).length === 0) return;
    const init = InvocationContext.initOf(invocationContext);
    const callbackContext = new Context({ ...init, invocation: invocationContext });
    return chooseTools({ callbackContext, tools }).then((chosen) => {
      if (chosen !== undefined) llmRequest.allowedTools = Object.keys(chosen);
    });
  }
}

export const TOOL_FILTER_REQUEST_PROCESSOR = new ToolFilterRequestProcessor();

/**
 * The processors of an agent that names no `requestProcessors`, in the order of `@google/adk` 2.0.0. That has no planning; planning
 * stands where adk-python has it.
 *
 * @example requestProcessors: [...DEFAULT_REQUEST_PROCESSORS, new Redactor()]
 */
export const DEFAULT_REQUEST_PROCESSORS: readonly BaseLlmRequestProcessor[] = Object.freeze([
  BASIC_LLM_REQUEST_PROCESSOR,
  IDENTITY_LLM_REQUEST_PROCESSOR,
  INSTRUCTIONS_LLM_REQUEST_PROCESSOR,
  CONTENT_REQUEST_PROCESSOR,
  PLANNING_REQUEST_PROCESSOR,
  CODE_EXECUTION_REQUEST_PROCESSOR,
  TOOL_FILTER_REQUEST_PROCESSOR,
]);

/** Whether the agent's request offers tools; an answer by a schema depends on that. */
function hasTools(agent: LlmAgentView, llmRequest: LlmRequest): boolean {
  return agent.tools.length > 0 || siteOf(llmRequest)?.addsTools === true;
}
