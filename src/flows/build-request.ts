import type { LlmAgent } from '../agents/llm-agent.ts';
import { appendInstructions, appendTools, type LlmRequest } from '../models/llm-request.ts';
import type { SessionNames, StoredEvent } from '../store/store.ts';
import { ReadonlyContext } from '../tools/readonly-context.ts';
import { contentsOf } from './contents.ts';
import { fillTemplate } from './fill-template.ts';

export interface RequestContext {
  invocationId: string;
  names: SessionNames;
  state: Record<string, unknown>;
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
  const message = transcript.findLast(
    ({ kind, event }) => kind === 'message' && event.invocationId === invocationId,
  );
  return await agent.instruction(
    new ReadonlyContext({
      appName: names.app,
      userId: names.userId,
      sessionId: names.sessionId,
      invocationId,
      agentName: agent.name,
      state,
      userContent: message?.event.content,
    }),
  );
}
