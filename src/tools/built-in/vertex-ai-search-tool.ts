import { isGemini1Model, mayBeGemini, unfitModel } from '../../models/gemini-generation.ts';
import { defined } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import * as option from '../../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, readFrom } from '../../schema/options.ts';
import type { ToolProcessLlmRequest } from '../base-tool.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import { NativeTool } from './gemini-tools.ts';

export interface VertexAISearchDataStoreSpec {
  dataStore?: string;
}

/** The search as the request names it. Fields: `VertexAISearchConfig` of `@google/adk` 2.0.0. */
export interface VertexAISearchConfig {
  datastore?: string;
  dataStoreSpecs?: VertexAISearchDataStoreSpec[];
  engine?: string;
  filter?: string;
  maxResults?: number;
}

interface SearchParams {
  filter?: string;
  maxResults?: number;
  /**
   * Offers the tool to Gemini 1.x beside others, too.
   *
   * @default false
   */
  bypassMultiToolsLimit?: boolean;
}

export interface DataStoreParams extends SearchParams {
  /** Resource name of a data store. */
  dataStoreId: string;
  searchEngineId?: never;
  dataStoreSpecs?: never;
}

export interface SearchEngineParams extends SearchParams {
  /** Resource name of a search engine. */
  searchEngineId: string;
  dataStoreId?: never;
  /** The engine's data stores to search in. */
  dataStoreSpecs?: VertexAISearchDataStoreSpec[];
}

export type VertexAiSearchToolParams = DataStoreParams | SearchEngineParams;

const SEARCH = {
  dataStoreId: option.text(),
  dataStoreSpecs: option.unchecked(),
  searchEngineId: option.text(),
  filter: option.text(),
  maxResults: option.count(),
  bypassMultiToolsLimit: option.flag(false),
} satisfies OptionsFor<Record<keyof VertexAiSearchToolParams, unknown>>;

/**
 * A search of Vertex AI, which Gemini runs by itself. Semantics: `VertexAiSearchTool` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example new VertexAiSearchTool({ dataStoreId: 'projects/p/locations/eu/collections/default_collection/dataStores/d' })
 */
export class VertexAiSearchTool extends NativeTool {
  readonly dataStoreId?: string;
  readonly dataStoreSpecs?: VertexAISearchDataStoreSpec[];
  readonly searchEngineId?: string;
  readonly filter?: string;
  readonly maxResults?: number;
  readonly bypassMultiToolsLimit!: boolean;

  constructor(params: VertexAiSearchToolParams) {
    const owner = new.target.name || 'VertexAiSearchTool';
    assertKnownFields(owner, params, namesOf(SEARCH));
    super({ name: 'vertex_ai_search', description: 'vertex_ai_search' });
    const { dataStoreId, dataStoreSpecs, searchEngineId }: VertexAiSearchToolParams = params;
    if ((dataStoreId === undefined) === (searchEngineId === undefined)) {
      throw new DefinitionError({
        owner,
        problem: 'Either dataStoreId or searchEngineId must be specified.',
      });
    }
    if (dataStoreSpecs !== undefined && searchEngineId === undefined) {
      throw new DefinitionError({
        owner,
        problem: 'searchEngineId must be specified if dataStoreSpecs is specified.',
      });
    }
    Object.assign(this, readFrom(SEARCH, new OptionReader(owner, params)));
  }

  /** Override it to make the search depend on the state, its filter for one. */
  protected buildVertexAiSearchConfig(_readonlyContext: ReadonlyContext): VertexAISearchConfig {
    const { dataStoreId, dataStoreSpecs, searchEngineId, filter, maxResults } = this;
    return {
      ...defined({ datastore: dataStoreId }),
      ...(dataStoreSpecs === undefined ? {} : { dataStoreSpecs: structuredClone(dataStoreSpecs) }),
      ...defined({ engine: searchEngineId, filter, maxResults }),
    };
  }

  /** @throws DefinitionError where the model has it not, or not beside other tools. */
  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!mayBeGemini(model)) {
      throw unfitModel(this.name, `Vertex AI search tool is not supported for model ${model}`);
    }
    if (isGemini1Model(model) && this.hasOtherTools(llmRequest) && !this.bypassMultiToolsLimit) {
      throw unfitModel(this.name, 'Vertex AI search tool cannot be used with other tools in Gemini 1.x.');
    }
    this.addTo(llmRequest, { retrieval: { vertexAiSearch: this.buildVertexAiSearchConfig(toolContext) } });
  }
}
