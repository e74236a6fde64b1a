import type { LlmAgent } from '../agents/llm-agent.ts';
import type { Content } from '../events/content.ts';
import { appendInstructions, appendTools, type LlmRequest } from '../models/llm-request.ts';
import type { SessionNames } from '../store/store.ts';
import { ReadonlyContext } from '../tools/readonly-context.ts';
import { thrownMessage } from '../tools/thrown-message.ts';
import { fillTemplate } from './fill-template.ts';
import type { Transcript } from './transcript.ts';

export interface RequestContext {
  invocationId: string;
  names: SessionNames;
  state: Record<string, unknown>;
}

/** An instruction provider threw. It is user code that may fail for a while, and is tried again like a model. */
export class InstructionFailed extends Error {
  readonly code = 'HOLDFAST_INSTRUCTION_FAILED';
  override readonly name = 'InstructionFailed';
  readonly retryable = true;
}

/**
 * What the model is asked: the transcript, the agent's instruction, its tools, its settings. The array of contents is the
 * request's own; the contents in it are frozen and shared with later steps, so they are replaced and never edited.
 */
export async function buildRequest(
  agent: LlmAgent,
  transcript: Pick<Transcript, 'contents' | 'message'>,
  context: RequestContext,
): Promise<LlmRequest> {
  const request: LlmRequest = {
    model: agent.canonicalModel.model,
    contents: transcript.contents(),
    config: { ...agent.generateContentConfig },
    toolsDict: {},
  };
  const instruction = await instructionOf(agent, transcript.message, context);
  if (instruction !== '') appendInstructions(request, [instruction]);
  appendTools(request, [...agent.tools]);
  return request;
}

async function instructionOf(
  agent: LlmAgent,
  message: Content | undefined,
  { invocationId, names, state }: RequestContext,
): Promise<string> {
  if (typeof agent.instruction === 'string') return fillTemplate(agent.instruction, state);
  const { instruction } = agent;
  const readonlyContext = new ReadonlyContext({
    appName: names.app,
    userId: names.userId,
    sessionId: names.sessionId,
    invocationId,
    agentName: agent.name,
    state,
    ...(message === undefined ? {} : { userContent: message }),
  });
  try {
    return await instruction(readonlyContext);
  } catch (error) {
    throw new InstructionFailed(`the instruction of agent ${agent.name} failed: ${thrownMessage(error)}`);
  }
}
