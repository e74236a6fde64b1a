import type { LlmAgent } from '../agents/llm-agent.ts';
import { appendInstructions, appendTools, type LlmRequest } from '../models/llm-request.ts';
import type { SessionNames, StoredEvent } from '../store/store.ts';
import { ReadonlyContext } from '../tools/readonly-context.ts';
import { thrownMessage } from '../tools/thrown-message.ts';
import { contentsOf } from './contents.ts';
import { fillTemplate } from './fill-template.ts';

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

/** What the model is asked: the transcript, the agent's instruction, its tools, its settings. */
export async function buildRequest(
  agent: LlmAgent,
  transcript: readonly StoredEvent[],
  context: RequestContext,
): Promise<LlmRequest> {
  const request: LlmRequest = {
    model: agent.canonicalModel.model,
    contents: contentsOf(transcript),
    config: { ...agent.generateContentConfig },
    toolsDict: {},
  };
  const instruction = await instructionOf(agent, transcript, context);
  if (instruction !== '') appendInstructions(request, [instruction]);
  appendTools(request, [...agent.tools]);
  return request;
}

async function instructionOf(
  agent: LlmAgent,
  transcript: readonly StoredEvent[],
  { invocationId, names, state }: RequestContext,
): Promise<string> {
  if (typeof agent.instruction === 'string') return fillTemplate(agent.instruction, state);
  const { instruction } = agent;
  const message = transcript.findLast(
    ({ kind, event }) => kind === 'message' && event.invocationId === invocationId,
  );
  const readonlyContext = new ReadonlyContext({
    appName: names.app,
    userId: names.userId,
    sessionId: names.sessionId,
    invocationId,
    agentName: agent.name,
    state,
    ...(message?.event.content === undefined ? {} : { userContent: message.event.content }),
  });
  try {
    return await instruction(readonlyContext);
  } catch (error) {
    throw new InstructionFailed(`the instruction of agent ${agent.name} failed: ${thrownMessage(error)}`);
  }
}
