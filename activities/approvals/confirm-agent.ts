import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { shownArguments } from '../../src/approvals/sensitive.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import { defined, isRecord } from '../../src/protocol/json.ts';
import { CONFIRM_AGENT, CONFIRM_TOOL } from '../../src/protocol/names.ts';
import type { ReadDecision, ReadDecisionInput } from '../../src/protocol/own-workflow.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { FunctionTool } from '../../src/tools/function-tool.ts';
import type { ConfirmationQuestion } from '../../src/tools/gate-options.ts';
import type { ActivityDependencies } from '../dependencies.ts';

/** Each of its turns is one call: the agent asks no model. */
class NoModel extends BaseLlm {
  constructor() {
    super({ model: 'none' });
  }

  override generateContentAsync(): AsyncGenerator<never, void> {
    throw new Error(`${CONFIRM_AGENT} has no model: it only asks people what workflows ask`);
  }
}

/** The workflow that asks decides what an approval allows: nothing runs here. */
function confirmTool(question: () => true | ConfirmationQuestion): BaseTool {
  return new FunctionTool({
    name: CONFIRM_TOOL,
    description: 'Asks people whether a workflow may go on.',
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

/** `holdfast.readDecision`: the end of a workflow's own question, and its decider. */
export async function readDecision(
  { store }: ActivityDependencies,
  { app, userId, sessionId, requestId }: ReadDecisionInput,
): Promise<ReadDecision> {
  const session = await store.sessions.find({ app, userId, sessionId });
  const row = session && (await store.approvals.findRequest(session.session, requestId));
  // Every program with Temporal access may ask, so other requests are not shown.
  if (row === undefined || !isConfirmAgent(row.agent)) return { v: PROTOCOL_VERSION, by: [] };
  const { status, votes, reason, args, editedArgs = args, answerPayload = row.payload } = row;
  const shown = shownArguments(editedArgs, row.sensitive);
  const decided = row.history.findLast(({ kind }) => kind === status)?.by;
  const voters = votes.filter(({ confirmed }) => confirmed === (status === 'approved')).map(({ by }) => by);
  return {
    v: PROTOCOL_VERSION,
    status,
    by: voters.length > 0 || decided === undefined ? voters : [decided],
    ...defined({ reason, payload: answerPayload }),
    ...(isRecord(shown) ? { args: shown } : {}),
  };
}
