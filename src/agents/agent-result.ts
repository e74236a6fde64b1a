import { type Content, textOf } from '../events/content.ts';
import type { EndedAgent } from '../protocol/agent-run.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import { toFunctionResponse } from '../tools/function-response.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import { ToolError } from '../tools/tool-error.ts';
import { isLlmAgent } from './llm-agent.ts';

/** The outcome of the latest run of a tool's agent. */
export interface AgentRunEnd {
  status: EndedAgent['status'];
  /** {@link answerText} of its last event with content. */
  text?: string | undefined;
  error?: { code: string; message: string } | undefined;
}

/** An agent that was run by a tool, or by the code of another agent, has no answer. */
export class SubAgentFailed extends ToolError {
  override readonly name = 'SubAgentFailed';

  constructor(code: string, message: string) {
    super(message, { code, retryable: false });
  }
}

/** Text: adk-go. */
function subAgentFailed(agent: string, { code, message }: { code: string; message: string }): SubAgentFailed {
  return new SubAgentFailed(
    code,
    `error from sub-agent ${JSON.stringify(agent)} (code: ${JSON.stringify(code)}, message: ${JSON.stringify(message)})`,
  );
}

/** The text of an event as the answer of an agent tool: its text parts by lines, thoughts left out; undefined without any. */
export function answerText(content: Content | undefined): string | undefined {
  return textOf(content, '\n') || undefined;
}

/**
 * The answer of an agent tool's call: the agent's text as `result`, the output schema's value of the text, or nothing if it has
 * said nothing. Semantics: adk-go, and the output schema of `@google/adk` 2.0.0.
 *
 * @throws SubAgentFailed
 */
export async function agentResult(agent: AgentView, end: AgentRunEnd): Promise<Record<string, unknown>> {
  const { status, text } = end;
  if (status !== 'completed') throw subAgentFailed(agent.name, end.error ?? WITHOUT_A_WORD[status]);
  if (text === undefined || text === '') return {};
  if (!isLlmAgent(agent) || agent.outputSchema === undefined) return { result: text };
  try {
    return toFunctionResponse(await agent.validateOutput(JSON.parse(text)));
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'it is no JSON' : thrownMessage(error);
    const message = `its answer doesn't match its outputSchema: ${problem}`;
    throw subAgentFailed(agent.name, { code: 'HOLDFAST_INVALID_RESULT', message });
  }
}

const WITHOUT_A_WORD: Record<
  Exclude<EndedAgent['status'], 'completed'>,
  { code: string; message: string }
> = {
  failed: { code: 'HOLDFAST_AGENT_FAILED', message: 'it has failed' },
  interrupted: { code: 'HOLDFAST_AGENT_INTERRUPTED', message: 'it was interrupted' },
  terminated: { code: 'HOLDFAST_AGENT_TERMINATED', message: 'it was terminated' },
  'timed out': { code: 'HOLDFAST_AGENT_TIMED_OUT', message: 'it has taken longer than it may' },
};
