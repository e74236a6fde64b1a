import { codedError } from '../../contract/error.ts';
import { takesSchemaWithTools } from '../../models/gemini-generation.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import { SET_MODEL_RESPONSE_INSTRUCTION } from '../../tools/built-in/set-model-response-tool.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { ReadonlyContext } from '../../tools/readonly-context.ts';
import { fillTemplate } from '../fill-template.ts';
import { asksModel, type LlmAgentView } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';
import { addInstructionContents } from './instruction-contents.ts';
import { hasTools } from './request-site.ts';
import { staticInstruction } from './static-instruction.ts';

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
      append(llmRequest, await textOf(rootAgent, 'globalInstruction', invocationContext));
    }
    if (parts.length > 0) {
      const { text, referred } = staticInstruction(parts);
      append(llmRequest, text);
      contents.push(...referred);
    }
    if (agent.instruction !== '') {
      const text = await textOf(agent, 'instruction', invocationContext);
      if (parts.length === 0) append(llmRequest, text);
      else if (text !== '') contents.push({ role: 'user', parts: [{ text }] });
    }
    if (contents.length > 0) addInstructionContents(llmRequest, contents);
    if (
      agent.outputJsonSchema !== undefined &&
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

async function textOf(
  agent: LlmAgentView,
  field: 'instruction' | 'globalInstruction',
  invocationContext: InvocationContext,
): Promise<string> {
  const given = agent[field];
  const init = InvocationContext.initOf(invocationContext);
  if (typeof given === 'string') {
    return fillTemplate(given, init.eventActions?.stateDelta ?? {}, init.state);
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
