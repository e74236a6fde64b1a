import { setTimeout } from 'node:timers/promises';
import { isLlmAgent } from '../agents/llm-agent.ts';
import { isResultSensitive, MASK, type Sensitive, shownArguments } from '../approvals/sensitive.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { isBaseTool } from '../tools/base-tool.ts';
import { type BaseToolset, isBaseToolset } from '../tools/base-toolset.ts';
import type { Context } from '../tools/context.ts';
import type { ToolCallRecord } from '../tools/invocation-context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';
import { isSensitiveAgent, sensitiveIn, shownResponse } from './withheld.ts';

/** A record of a {@link ToolAuditPlugin}: the same for a call in each writing. */
export interface ToolAuditRecord {
  /** Unique for ever: a record that comes again has the same. */
  callKey: string;
  callId: string;
  tool: string;
  agent: string;
  app: string;
  userId: string;
  sessionId: string;
  invocationId: string;
  /** Number of the model step, from 1. */
  step: number;
  failed: boolean;
  /** The model's arguments. Absent, or `'(sensitive)'` one by one, where the tool or its agent is `sensitive`. */
  args?: Record<string, unknown>;
  /** The response that the model got; absent where that is `sensitive`. */
  response?: Record<string, unknown>;
}

export type WriteToolAudit = (record: ToolAuditRecord) => unknown;

/** Between two attempts to write a record, milliseconds. */
const WAITS = [50, 250];

/**
 * Writes a record of each call that has its outcome, in call order. A crash, or a sink that fails after it has written,
 * may bring a record again: the sink keeps one for each `callKey`. Failures of the sink are tried three times and then
 * logged; they never end a turn.
 *
 * @throws DefinitionError from the constructor.
 * @example new ToolAuditPlugin((record) => sql`insert into audit ${sql(record)} on conflict (call_key) do nothing`)
 */
export class ToolAuditPlugin extends BasePlugin {
  readonly #write: WriteToolAudit;

  /** @param write gets each record; what it returns is awaited. */
  constructor(write: WriteToolAudit, name = 'tool_audit') {
    super(name);
    if (typeof write !== 'function') {
      throw new DefinitionError({
        owner: new.target.name,
        field: 'write',
        problem: `expected a function that gets each record, got ${kindOf(write)}`,
      });
    }
    this.#write = write;
  }

  override async onToolCallCompleted({
    call,
    callbackContext,
  }: PluginParams<'onToolCallCompleted'>): Promise<void> {
    const record = await recordOf(call, callbackContext);
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#write(structuredClone(record));
        return;
      } catch (error) {
        const wait = WAITS[attempt];
        if (wait === undefined) throw error;
        await setTimeout(wait, undefined, { signal: callbackContext.abortSignal });
      }
    }
  }
}

async function recordOf(call: ToolCallRecord, context: Context): Promise<ToolAuditRecord> {
  const { callKey, callId, name, agent, step, failed } = call;
  const { appName, userId, sessionId, invocationId } = context;
  const sensitive = await sensitiveOf(call, context);
  const args = shownArguments(call.args, sensitive);
  const response = isResultSensitive(sensitive, failed)
    ? MASK
    : shownResponse(call.response, call.args, sensitive);
  return {
    ...{ callKey, callId, tool: name, agent, app: appName, userId, sessionId, invocationId, step, failed },
    ...(args === MASK ? {} : { args: args as Record<string, unknown> }),
    ...(response === MASK ? {} : { response: response as Record<string, unknown> }),
  };
}

/** All values if the call's tool isn't known. */
async function sensitiveOf(
  { name, agent: agentName, args }: ToolCallRecord,
  context: Context,
): Promise<Sensitive> {
  const acting = context.invocationContext.agent;
  const agent = acting?.rootAgent.findAgent(agentName) ?? acting;
  if (!isLlmAgent(agent) || isSensitiveAgent(agent)) return true;
  for (const each of agent.tools) {
    if (isBaseTool(each) && each.name === name) return sensitiveIn(each, args);
  }
  if (agent.codeExecutor?.name === name) {
    return agent.codeExecutor.durableOptions.sensitive ?? false;
  }
  for (const each of agent.tools) {
    if (!isBaseToolset(each)) continue;
    const tool = (await toolsOf(each, context)).find((tool) => tool.name === name);
    if (tool !== undefined) return sensitiveIn(tool, args);
  }
  return true;
}

async function toolsOf(toolset: BaseToolset, context: Context) {
  try {
    return await toolset.getTools(context);
  } catch {
    // Requests tell of a toolset that fails; here it only means that its tools aren't known, and are taken for sensitive.
    return [];
  }
}
