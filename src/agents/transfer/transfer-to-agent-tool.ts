import type { FunctionDeclaration } from '../../events/content.ts';
import { BaseTool, type RunAsyncToolRequest } from '../../tools/base-tool.ts';
import { InvalidArgumentsError } from '../../tools/tool-error.ts';
import { transferTo } from './transfer-target.ts';

/**
 * `transfer_to_agent`: the model hands the user over to another agent of the tree. An agent that there isn't is told to it as
 * an error. Semantics: the tool of `@google/adk` 2.0.0; the argument may also be called `agent_name`, as in adk-go and
 * adk-python.
 */
export class TransferToAgentTool extends BaseTool {
  constructor() {
    super({
      name: 'transfer_to_agent',
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
