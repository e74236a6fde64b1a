import { type Content, textOf } from '../events/content.ts';
import { BaseLlm } from '../models/base-llm.ts';
import type { ModelRequest } from '../models/llm-request.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { isRecord, parsedJson } from '../protocol/json.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { agentOwner, CONFIG_FIELDS } from './base-agent.ts';
import { LlmAgent } from './llm-agent.ts';
import type { LlmAgentConfig } from './llm-agent-config.ts';
import { TOOL_AGENT } from './llm-agent-view.ts';

const FIELDS = [
  'name',
  'description',
  'tools',
  'stateSchema',
  'beforeAgentCallback',
  'afterAgentCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'onToolErrorCallback',
  'sensitive',
] as const satisfies (keyof LlmAgentConfig)[];

/** Configuration of a {@link ToolAgent}: fields of an `LlmAgent`, without those of a model. */
export type ToolAgentConfig = Pick<LlmAgentConfig, (typeof FIELDS)[number]>;

/** A call as the message to a {@link ToolAgent}. */
export interface CallMessage {
  tool: string;
  args?: Record<string, unknown>;
}

/**
 * An agent without a model. Each message is one call of one of its tools, as JSON: `{"tool": "find_order", "args": {"id": 7}}`. The
 * answer is the tool's response, as JSON. The call has all that calls of models have: retries, gates, jobs, the ledger. Ours.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * export const desk = new ToolAgent({ name: 'desk', tools: [findOrder, refund] });
 */
export class ToolAgent extends LlmAgent {
  readonly [TOOL_AGENT] = true;

  constructor(config: ToolAgentConfig) {
    assertKnownFields(agentOwner('ToolAgent', isRecord(config) ? config.name : ''), config, FIELDS);
    super(config);
    this.model = new CallOfMessage();
    this.includeContents = 'none';
  }

  override get [CONFIG_FIELDS](): readonly string[] {
    return FIELDS;
  }
}

/** Stands in for a model: it asks for the call that the message names, and answers with its response. */
class CallOfMessage extends BaseLlm {
  constructor() {
    super({ model: 'call-of-message' });
  }

  override async *generateContentAsync({ contents }: ModelRequest): AsyncGenerator<LlmResponse, void> {
    yield answerTo(contents.at(-1));
  }
}

function answerTo(content: Content | undefined): LlmResponse {
  const response = content?.parts?.find(({ functionResponse }) => functionResponse !== undefined);
  if (response !== undefined) {
    const text = JSON.stringify(response.functionResponse?.response ?? {});
    return { content: { role: 'model', parts: [{ text }] } };
  }
  const call = callIn(textOf(content, ''));
  if (call === undefined) {
    const errorMessage = 'expected a call as the message: {"tool": "<name>", "args": {…}}';
    return { errorCode: 'HOLDFAST_INVALID_ARGUMENTS', errorMessage };
  }
  const { tool: name, args = {} } = call;
  return { content: { role: 'model', parts: [{ functionCall: { name, args } }] } };
}

function callIn(text: string): CallMessage | undefined {
  const call = parsedJson(text);
  if (!isRecord(call) || typeof call.tool !== 'string' || call.tool === '') return undefined;
  const { tool, args } = call;
  return args === undefined || isRecord(args) ? { tool, ...(args && { args }) } : undefined;
}
