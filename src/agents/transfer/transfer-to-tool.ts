import { FunctionTool } from '../../tools/function-tool.ts';
import { assertAgentName } from '../agent-name.ts';
import { transferTo } from './transfer-target.ts';

const PARAMETERS = {
  type: 'object',
  properties: { request: { type: 'string', description: 'What the agent should do.' } },
  required: ['request'],
} as const;

/**
 * `transfer_to_<agent>`: hands the user over to one agent. Semantics: `TransferTo` of hector's control tools.
 *
 * @throws DefinitionError for what can be no agent's name.
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
      description: description ?? `Transfers control to the agent ${agentName}.`,
      parameters: PARAMETERS,
      execute: (_, toolContext) => transferTo(agentName, toolContext),
    });
    this.agentName = agentName;
  }
}
