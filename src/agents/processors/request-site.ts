import type { BaseTool, LlmRequest } from '../../tools/base-tool.ts';
import type { Context } from '../../tools/context.ts';
import type { LlmAgentView } from '../llm-agent-view.ts';

type Tools = Readonly<Record<string, BaseTool>>;

/** Gives the tools to offer, or undefined for all of them. */
export type ToolChoice = (params: { callbackContext: Context; tools: Tools }) => Promise<Tools | undefined>;

/** What the processors of a request need beside their invocation. */
export interface ProcessorSite {
  /** Chooses among the tools of the request; absent where nobody wants to. */
  chooseTools?: ToolChoice | undefined;
  /** The invocation has added tools. */
  addsTools: boolean;
}

const sites = new WeakMap<LlmRequest, ProcessorSite>();

export function setSite(llmRequest: LlmRequest, site: ProcessorSite): void {
  sites.set(llmRequest, site);
}

/** Undefined for a request that user code has made. */
export function siteOf(llmRequest: LlmRequest): ProcessorSite | undefined {
  return sites.get(llmRequest);
}

/** Whether the agent's request offers tools; an answer by a schema depends on that. */
export function hasTools(agent: LlmAgentView, llmRequest: LlmRequest): boolean {
  return agent.tools.length > 0 || siteOf(llmRequest)?.addsTools === true;
}
