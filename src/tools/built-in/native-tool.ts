import type { Tool } from '@google/genai';
import type { LlmRequest } from '../base-tool.ts';
import { BaseTool } from '../base-tool.ts';

/** A tool that the provider runs by itself: it stands in the request, and no call of it ever comes. */
export abstract class NativeTool extends BaseTool {
  override async runAsync(): Promise<unknown> {
    return undefined;
  }

  /** Puts the tool beside those that the request has. */
  protected addTo(llmRequest: LlmRequest, tool: Tool): void {
    llmRequest.config ??= {};
    llmRequest.config.tools = [...(llmRequest.config.tools ?? []), tool];
  }

  protected hasOtherTools({ config }: LlmRequest): boolean {
    return (config?.tools ?? []).length > 0;
  }
}
