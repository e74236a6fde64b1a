import type { FunctionDeclaration } from '../events/content.ts';
import { appendInstructions, appendTools } from '../models/llm-request.ts';
import { didYouMean } from '../schema/known-fields.ts';
import { BaseTool, isBaseTool, type LlmRequest, type RunAsyncToolRequest } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';
import { FunctionTool } from '../tools/function-tool.ts';
import { type AgentView, InvocationContext } from '../tools/invocation-context.ts';
import { InvalidArgumentsError } from '../tools/tool-error.ts';
import { assertAgentName } from './base-agent.ts';
import { asksModel, hasMode } from './llm-agent-view.ts';
import { DirectProcessor } from './processors/base-llm-processor.ts';

/** Most transfers of a turn: with more, two agents each take the other for the better one. */
export const MOST_TRANSFERS = 32;

/**
 * The agents to which a turn may be transferred from this one: its sub-agents, and below an `LlmAgent` its parent and that one's
 * other sub-agents, unless it says otherwise. Semantics: `getTransferTargets` of `@google/adk` 2.0.0; agents with a `mode` as in adk-python.
 */
export function transferTargets(agent: AgentView): readonly AgentView[] {
  return hasMode(agent) ? [] : allTargets(agent).filter((target) => !hasMode(target));
}

function allTargets(agent: AgentView): readonly AgentView[] {
  const { subAgents, parentAgent } = agent;
  if (!asksModel(agent) || !asksModel(parentAgent)) return subAgents;
  return [
    ...subAgents,
    ...(agent.disallowTransferToParent ? [] : [parentAgent]),
    ...(agent.disallowTransferToPeers ? [] : parentAgent.subAgents.filter(({ name }) => name !== agent.name)),
  ];
}

/**
 * Lets another agent of the tree act from here on.
 *
 * @returns what the model is told: that it is queued, or an error that it can recover from.
 */
function transferTo(name: string, { invocationContext, actions }: Context): unknown {
  const { agent, transfers = 0 } = InvocationContext.initOf(invocationContext);
  const problem = transferProblem(agent, name, transfers);
  if (problem !== undefined) return { error: problem };
  actions.transferToAgent = name;
  return 'Transfer queued';
}

/**
 * Why the turn is not transferred to an agent of this name; undefined if it may be.
 *
 * @param transfers number of transfers by now.
 */
function transferProblem(agent: AgentView | undefined, name: string, transfers: number): string | undefined {
  const allowed = agent === undefined ? [] : transferTargets(agent).map((target) => target.name);
  if (!allowed.includes(name)) {
    const others = allowed.length === 0 ? 'there is no other agent' : `agents are ${allowed.join(', ')}`;
    return `unknown agent "${name.slice(0, 128)}"; ${others}${didYouMean(name, allowed)}`;
  }
  if (transfers < MOST_TRANSFERS) return undefined;
  return `this turn was transferred ${transfers} times, and at most ${MOST_TRANSFERS} transfers are allowed: answer it yourself`;
}

/**
 * `transfer_to_agent`: the model hands the user over to another agent of the tree. An agent that there isn't is told to it as
 * an error. Semantics: the tool of `@google/adk` 2.0.0; the argument may also be called `agent_name`, as in adk-go and
 * adk-python.
 */
export class TransferToAgentTool extends BaseTool {
  constructor() {
    super({
      name: 'transfer_to_agent',
      trusted: true,
      description:
        'Transfer the question to another agent. This tool hands off control to another agent when it is more suitable to ' +
        'answer the user question according to the agent description.',
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: {
        type: 'object',
        properties: { agentName: { type: 'string', description: 'the agent name to transfer to.' } },
        required: ['agentName'],
      },
    };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const name = args.agentName ?? args.agent_name;
    if (typeof name !== 'string' || name === '') {
      throw new InvalidArgumentsError(`Error in tool '${this.name}': agentName must be the name of an agent`);
    }
    return transferTo(name, toolContext);
  }
}

export const transferToAgentTool = new TransferToAgentTool();

const PARAMETERS = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What the agent should do.' } },
  required: ['request'],
} as const;

/**
 * `transfer_to_<agent>`: hands the user over to one agent. Semantics: `TransferTo` of hector's control tools.
 *
 * @throws DefinitionError for a name that no agent can have.
 * @example new TransferToTool('billing', 'Knows invoices and refunds.')
 */
export class TransferToTool extends FunctionTool<typeof PARAMETERS> {
  /** Name of the agent. */
  readonly agentName: string;

  /** @param description defaults to a sentence that names the agent. */
  constructor(agentName: string, description?: string) {
    assertAgentName('TransferToTool', agentName);
    super({
      name: `transfer_to_${agentName}`,
      trusted: true,
      description: description ?? `Transfers control to the agent ${agentName}.`,
      parameters: PARAMETERS,
      execute: (_, toolContext) => transferTo(agentName, toolContext),
    });
    this.agentName = agentName;
  }
}

/**
 * Tells the model to which agents it can transfer the turn, and offers it `transfer_to_agent`. Every `LlmAgent` ends its list of
 * processors with it, unless it has no sub-agents and transfers neither to its parent nor to its peers. Semantics and texts:
 * `AgentTransferLlmRequestProcessor` of `@google/adk` 2.0.0; a parent to which it can't transfer isn't named.
 */
export class AgentTransferLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent)) return;
    const targets = transferTargets(agent);
    if (targets.length === 0) return;
    appendInstructions(llmRequest, [instructionsFor(agent, targets)]);
    const { name } = transferToAgentTool;
    // One that the agent has itself is offered with its tools.
    if (agent.tools.some((tool) => isBaseTool(tool) && tool.name === name)) return;
    appendTools(llmRequest, [transferToAgentTool]);
  }
}

export const AGENT_TRANSFER_LLM_REQUEST_PROCESSOR = new AgentTransferLlmRequestProcessor();

function instructionsFor({ parentAgent }: AgentView, targets: readonly AgentView[]): string {
  const general = `
You have a list of other agents to transfer to:

${targets.map(aboutTarget).join('\n')}

If you are the best to answer the question according to your description, you
can answer it.

If another agent is better for answering the question according to its
description, call \`${transferToAgentTool.name}\` function to transfer the
question to that agent. When transferring, do not generate any text other than
the function call.
`;
  if (parentAgent === undefined || !targets.includes(parentAgent)) return general;
  return `${general}
Your parent agent is ${parentAgent.name}. If neither the other agents nor
you are best for answering the question according to the descriptions, transfer
to your parent agent.
`;
}

function aboutTarget({ name, description }: AgentView): string {
  return `
Agent name: ${name}
Agent description: ${description}
`;
}
