import type { Tool, VertexRagStore } from '@google/genai';
import {
  isGemini1Model,
  isGemini2OrAbove,
  isGeminiModel,
  mayBeGemini,
  unfitModel,
} from '../../models/gemini-generation.ts';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { BaseTool, type LlmRequest, type ToolProcessLlmRequest, toolOwner } from '../base-tool.ts';

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

/**
 * Any tool that Gemini runs by itself, as `@google/genai` configures it. Semantics: `geminitool` of adk-go.
 *
 * @throws DefinitionError from the constructor: the error names the option.
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

/**
 * Google Search, which Gemini runs by itself. Semantics: `GoogleSearchTool` of `@google/adk` 2.0.0.
 *
 * @example new LlmAgent({ name: 'researcher', model: 'gemini-2.5-flash', tools: [GOOGLE_SEARCH] })
 */
export class GoogleSearchTool extends NativeTool {
  constructor() {
    super({ name: 'google_search', description: 'Google Search Tool' });
  }

  /** @throws DefinitionError where the model has no search, or none beside other tools. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (isGemini1Model(model)) {
      if (this.hasOtherTools(llmRequest)) {
        throw unfitModel(this.name, 'Google search tool can not be used with other tools in Gemini 1.x.');
      }
      this.addTo(llmRequest, { googleSearchRetrieval: {} });
      return;
    }
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `Google search tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { googleSearch: {} });
  }
}

export const GOOGLE_SEARCH = new GoogleSearchTool();

/** Google Maps, which Gemini asks by itself. Semantics: `GoogleMapsGroundingTool` of `@google/adk` 2.0.0. */
export class GoogleMapsGroundingTool extends NativeTool {
  constructor() {
    super({ name: 'google_maps', description: 'Google Maps Grounding Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (isGemini1Model(model)) {
      throw unfitModel(this.name, 'Google Maps grounding tool cannot be used with Gemini 1.x models.');
    }
    if (!mayBeGemini(model)) {
      throw unfitModel(this.name, `Google maps tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { googleMaps: {} });
  }
}

export const GOOGLE_MAPS_GROUNDING = new GoogleMapsGroundingTool();

/** Reading of web pages, which Gemini does by itself. Semantics: `UrlContextTool` of `@google/adk` 2.0.0. */
export class UrlContextTool extends NativeTool {
  constructor() {
    super({ name: 'url_context', description: 'URL Context Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `URL context tool is not supported for model ${model}`);
    }
    if (!isGemini2OrAbove(model)) {
      throw unfitModel(this.name, `URL context tool requires Gemini 2 or above, but got ${model}`);
    }
    this.addTo(llmRequest, { urlContext: {} });
  }
}

export const URL_CONTEXT = new UrlContextTool();

/**
 * Code that Gemini writes and runs by itself, as a tool beside others. For agents without `BuiltInCodeExecutor`; adds the same to a
 * request as that executor of `@google/adk` 2.0.0.
 */
export class CodeExecutionTool extends NativeTool {
  constructor() {
    super({ name: 'code_execution', description: 'Code Execution Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!isGemini2OrAbove(model)) {
      throw unfitModel(this.name, `Gemini code execution tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { codeExecution: {} });
  }
}

export const CODE_EXECUTION = new CodeExecutionTool();

/** Web search for enterprises, which Gemini runs by itself. Semantics: `EnterpriseWebSearchTool` of `@google/adk` 2.0.0. */
export class EnterpriseWebSearchTool extends NativeTool {
  constructor() {
    super({ name: 'enterprise_web_search', description: 'Enterprise Web Search Tool' });
  }

  /** @throws DefinitionError where the model has it not, or not beside other tools. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!mayBeGemini(model)) {
      throw unfitModel(this.name, `Enterprise Web Search tool is not supported for model ${model}`);
    }
    if (isGemini1Model(model) && this.hasOtherTools(llmRequest)) {
      throw unfitModel(
        this.name,
        'Enterprise Web Search tool cannot be used with other tools in Gemini 1.x.',
      );
    }
    this.addTo(llmRequest, { enterpriseWebSearch: {} });
  }
}

export const ENTERPRISE_WEB_SEARCH = new EnterpriseWebSearchTool();

/**
 * Retrieval of Vertex AI's RAG engine, which Gemini does by itself. Semantics: `VertexRagRetrievalTool` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor.
 */
export class VertexRagRetrievalTool extends NativeTool {
  readonly #store: VertexRagStore;

  constructor(vertexRagStore: VertexRagStore) {
    super({ name: 'vertex_rag_retrieval', description: 'Vertex AI RAG Retrieval Tool' });
    if (!isRecord(vertexRagStore)) {
      const problem = `expected a VertexRagStore, got ${kindOf(vertexRagStore)}`;
      throw new DefinitionError({ owner: 'VertexRagRetrievalTool', problem });
    }
    this.#store = structuredClone(vertexRagStore);
  }

  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    this.addTo(llmRequest, { retrieval: { vertexRagStore: structuredClone(this.#store) } });
  }
}
