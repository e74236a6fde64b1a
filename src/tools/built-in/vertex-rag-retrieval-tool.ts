import type { VertexRagStore } from '@google/genai';
import { DefinitionError } from '../../schema/definition-error.ts';
import { isRecord, kindOf } from '../../schema/kind-of.ts';
import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { NativeTool } from './native-tool.ts';

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
