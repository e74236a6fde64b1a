import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import { CONFIRM_AGENT, CONFIRM_TOOL } from '../../src/protocol/names.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { FunctionTool } from '../../src/tools/function-tool.ts';
import type { ConfirmationQuestion } from '../../src/tools/gate-options.ts';

/** Its turns are one call each: nobody asks it. */
class NoModel extends BaseLlm {
  constructor() {
    super({ model: 'none' });
  }

  override generateContentAsync(): AsyncGenerator<never, void> {
    throw new Error(`${CONFIRM_AGENT} has no model: it only asks people what workflows ask`);
  }
}

/** What is approved is up to the workflow that asks: nothing runs here. */
function confirmTool(question: () => true | ConfirmationQuestion): BaseTool {
  return new FunctionTool({
    name: CONFIRM_TOOL,
    description: 'Asks people whether a workflow may go on.',
    parameters: { type: 'object' },
    requireConfirmation: question,
    execute: () => ({ confirmed: true }),
  });
}

/** In every worker: asks people what users' own workflows ask, in turns of one call each. */
export const confirmAgent = new LlmAgent({
  name: CONFIRM_AGENT,
  model: new NoModel(),
  tools: [confirmTool(() => true)],
});

export function isConfirmAgent(name: string): boolean {
  return name === CONFIRM_AGENT;
}

/** The agent's tool for one call, which asks what its workflow has said. The gate checks the question as any other. */
export function askingTool(question: Record<string, unknown> | undefined): BaseTool {
  return confirmTool(() => {
    if (question === undefined) throw new Error('its workflow has not said what to ask');
    return question;
  });
}
