import type { LlmRequest } from '../../models/llm-request.ts';
import type { PluginManager } from '../../plugins/plugin-manager.ts';
import type { LlmAgent } from '../llm-agent.ts';

/** What the processors of a request need beside their invocation. */
export interface ProcessorSite {
  plugins: PluginManager;
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
export function hasTools(agent: LlmAgent, llmRequest: LlmRequest): boolean {
  return agent.tools.length > 0 || siteOf(llmRequest)?.addsTools === true;
}
