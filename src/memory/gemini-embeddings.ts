import type { GoogleGenAI } from '@google/genai';
import { type GeminiConnection, resolveConnection } from '../models/gemini-connection.ts';
import { patientFetch } from '../net/patient-fetch.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { Embeddings, EmbedOptions } from './embeddings.ts';

export interface GeminiEmbeddingsParams extends GeminiConnection {
  /** Name of the embedding model, such as `gemini-embedding-001`. */
  embeddingModel: string;
  /** Numbers of a vector. @default as many as the model makes */
  dimensions?: number;
}

const TASKS = { document: 'RETRIEVAL_DOCUMENT', query: 'RETRIEVAL_QUERY' } as const;

/**
 * Embeddings of Gemini by `@google/genai`, on the Gemini API or Vertex AI. Making one reads no environment and does no I/O.
 *
 * @throws DefinitionError from the constructor: the error names the parameter.
 * @example
 * new App({ name: 'desk', rootAgent, durable: {
 *   memory: { embeddings: new GeminiEmbeddings({ embeddingModel: 'gemini-embedding-001', dimensions: 768 }) },
 * } });
 */
export class GeminiEmbeddings implements Embeddings {
  readonly model: string;
  readonly #params: GeminiEmbeddingsParams;
  #client: Promise<GoogleGenAI> | undefined;

  constructor(params: GeminiEmbeddingsParams) {
    const { embeddingModel, dimensions } = params;
    const owner = 'GeminiEmbeddings';
    if (typeof embeddingModel !== 'string' || embeddingModel === '') {
      const problem = `expected the name of a model, got ${kindOf(embeddingModel)}`;
      throw new DefinitionError({ owner, field: 'embeddingModel', problem });
    }
    if (dimensions !== undefined && !(Number.isSafeInteger(dimensions) && dimensions > 0)) {
      const problem = `expected a whole number above 0, got ${kindOf(dimensions)}`;
      throw new DefinitionError({ owner, field: 'dimensions', problem });
    }
    this.#params = params;
    this.model = dimensions === undefined ? embeddingModel : `${embeddingModel}/${dimensions}`;
  }

  async embed(texts: readonly string[], { purpose, signal }: EmbedOptions): Promise<number[][]> {
    this.#client ??= clientOf(this.#params);
    this.#client.catch(() => {
      this.#client = undefined;
    });
    const { embeddingModel, dimensions } = this.#params;
    const { models } = await this.#client;
    const { embeddings = [] } = await models.embedContent({
      model: embeddingModel,
      contents: [...texts],
      config: {
        taskType: TASKS[purpose],
        abortSignal: signal,
        ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
      },
    });
    return embeddings.map(({ values = [] }) => values);
  }
}

async function clientOf({
  embeddingModel: _model,
  dimensions: _dimensions,
  ...connection
}: GeminiEmbeddingsParams) {
  const { GoogleGenAI } = await import('@google/genai');
  const { options } = resolveConnection(connection);
  return new GoogleGenAI({ ...options, httpOptions: { fetch: patientFetch, ...options.httpOptions } });
}
