import type { Tool } from '@google/genai';
import { DefinitionError } from '../../schema/definition-error.ts';
import { isRecord, kindOf } from '../../schema/kind-of.ts';
import { type ToolProcessLlmRequest, toolOwner } from '../base-tool.ts';
import { NativeTool } from './native-tool.ts';

/**
 * Any tool that Gemini runs by itself, as `@google/genai` configures it. Semantics: `geminitool` of adk-go.
 *
 * @throws DefinitionError from the constructor, naming what is wrong.
 * @example new GeminiTool('google_search', { googleSearch: { excludeDomains: ['example.com'] } })
 */
export class GeminiTool extends NativeTool {
  readonly #tool: Tool;

  /** @param description for people; the model is not told. */
  constructor(name: string, genaiTool: Tool, description = '') {
    super({ name, description });
    const owner = toolOwner('GeminiTool', name);
    if (!isRecord(genaiTool)) {
      const problem = `expected a Tool of @google/genai, got ${kindOf(genaiTool)}`;
      throw new DefinitionError({ owner, field: 'genaiTool', problem });
    }
    if (Object.keys(genaiTool).length === 0) {
      throw new DefinitionError({
        owner,
        field: 'genaiTool',
        problem: 'names no tool; { googleSearch: {} } does',
      });
    }
    if ('functionDeclarations' in genaiTool || 'callTool' in genaiTool) {
      throw new DefinitionError({
        owner,
        field: 'genaiTool',
        problem: 'functions are no tools of Gemini itself; write tool({…}), so that their calls are run',
      });
    }
    this.#tool = structuredClone(genaiTool);
  }

  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    this.addTo(llmRequest, structuredClone(this.#tool));
  }
}
