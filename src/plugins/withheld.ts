import { isLlmAgent } from '../agents/llm-agent.ts';
import {
  argumentNames,
  isResultSensitive,
  MASK,
  type Sensitive,
  sensitiveOfCall,
  valueWithoutSecrets,
} from '../approvals/sensitive.ts';
import { isRecord } from '../protocol/json.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import type { AgentView } from '../tools/invocation-context.ts';

export function isSensitiveAgent(agent: AgentView | undefined): boolean {
  return isLlmAgent(agent) && agent.durable.sensitive;
}

/** The sensitive values of a call of this tool. */
export function sensitiveIn(tool: BaseTool, args: Readonly<Record<string, unknown>>): Sensitive {
  const { sensitive } = tool.durable;
  if (typeof sensitive === 'boolean') return sensitive;
  try {
    const { inputSchema } = tool.describe();
    if (!isRecord(inputSchema?.properties)) return sensitive;
    return sensitiveOfCall(sensitive, argumentNames(inputSchema), args);
  } catch {
    // Requests tell of a declaration that throws; here it only means that the tool's arguments aren't known.
    return true;
  }
}

/**
 * The outcome of a call, without its sensitive values. An error, and an answer in its place, may quote any argument. From other
 * results the values of sensitive arguments are left out.
 *
 * @returns {@link MASK} if nothing of it is to be shown.
 */
export function shownResponse(
  response: Record<string, unknown>,
  args: Record<string, unknown>,
  sensitive: Sensitive,
): unknown {
  if (isResultSensitive(sensitive, isOfError(response))) return MASK;
  return valueWithoutSecrets(response, args, sensitive);
}

function isOfError(response: Record<string, unknown> | undefined): boolean {
  if (response === undefined) return false;
  return Object.hasOwn(response, 'error') || response.response_type === REFLECT_AND_RETRY_RESPONSE_TYPE;
}

export const REFLECT_AND_RETRY_RESPONSE_TYPE = 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN';

/** The response that tells the model of a failure. Wire names: `ToolFailureResponse` of adk-python. */
export interface ToolFailureResponse {
  response_type: typeof REFLECT_AND_RETRY_RESPONSE_TYPE;
  error_type: string;
  error_details: string;
  retry_count: number;
  reflection_guidance: string;
}
