import { toModelError } from '../models/model-errors.ts';
import { aborting } from '../net/guarded-fetch.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { Embedding } from '../store/memories/memory-store.ts';
import { EmbeddingsFailed } from './memory-errors.ts';

export interface EmbedOptions {
  /** `document`: the texts are kept. `query`: they ask for kept ones. Some models embed the two differently. */
  purpose: 'document' | 'query';
  signal: AbortSignal;
}

/** Embeds texts, so that memories are found by their meaning, too. */
export interface Embeddings {
  /** Names the model and its settings. Memories that another model has embedded are found by their words only. */
  readonly model: string;
  /** @returns a vector for each text, in order, all of one size: 1 to 8,192 finite numbers. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly (readonly number[])[]>;
}

/** Numbers of a vector. */
const LARGEST_VECTOR = 8_192;
/** Milliseconds that a search waits for embeddings, or for an app's own service. */
export const LONGEST_SEARCH = 10_000;
/** Texts of one request. */
const AT_ONCE = 64;

/**
 * Embeddings of texts, each of length 1.
 *
 * @throws EmbeddingsFailed
 */
export async function embedded(
  embeddings: Embeddings,
  texts: readonly string[],
  options: EmbedOptions,
): Promise<Embedding[]> {
  const vectors: (readonly number[])[] = [];
  for (let start = 0; start < texts.length; start += AT_ONCE) {
    const asked = texts.slice(start, start + AT_ONCE);
    vectors.push(...(await vectorsOf(embeddings, asked, options)));
  }
  const [first] = vectors;
  const other = vectors.find(({ length }) => length !== first?.length);
  if (other !== undefined) {
    throw failed(embeddings, `vectors of ${first?.length} and of ${other.length} numbers; all have one size`);
  }
  return vectors.map((vector) => ({ model: embeddings.model, values: ofLengthOne(vector) }));
}

/**
 * Embeddings of texts that are kept, in order; none without embeddings.
 *
 * @throws EmbeddingsFailed
 */
export async function embeddedDocuments(
  embeddings: Embeddings | undefined,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Embedding[]> {
  return embeddings === undefined ? [] : await embedded(embeddings, texts, { purpose: 'document', signal });
}

/** The embedding of a query; undefined where there is none in time, since words will do. @param warn hears why. */
export async function embeddedQuery(
  embeddings: Embeddings | undefined,
  query: string,
  { signal, warn }: { signal: AbortSignal; warn: (error: unknown) => void },
): Promise<Embedding | undefined> {
  if (embeddings === undefined || query.trim() === '') return undefined;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_SEARCH)]);
  try {
    const [embedding] = await embedded(embeddings, [query], { purpose: 'query', signal: inTime });
    return embedding;
  } catch (error) {
    if (signal.aborted) throw error;
    warn(error);
    return undefined;
  }
}

async function vectorsOf(
  embeddings: Embeddings,
  texts: readonly string[],
  options: EmbedOptions,
): Promise<readonly (readonly number[])[]> {
  const { signal } = options;
  let answer: unknown;
  try {
    answer = await aborting(embeddings.embed(texts, options), signal);
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const problem = `the embeddings ${embeddings.model} failed: ${thrownMessage(thrown)}`;
    const asModel = toModelError(thrown);
    throw new EmbeddingsFailed(problem, { cause: asModel.kind === 'rate_limited' ? asModel : thrown });
  }
  if (!Array.isArray(answer) || answer.length !== texts.length) {
    const got = Array.isArray(answer) ? `${answer.length} of` : `${kindOf(answer)} in place of`;
    throw failed(embeddings, `${got} ${texts.length} vectors`);
  }
  const wrong = answer.findIndex((vector) => !isVector(vector));
  if (wrong >= 0) {
    const problem = `${kindOf(answer[wrong])} for text ${wrong}; a vector is 1 to ${LARGEST_VECTOR} finite numbers, not all 0`;
    throw failed(embeddings, problem);
  }
  return answer;
}

function isVector(value: unknown): value is readonly number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= LARGEST_VECTOR &&
    value.every((number) => Number.isFinite(number)) &&
    value.some((number) => number !== 0)
  );
}

function ofLengthOne(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((number) => Math.fround(number / length));
}

function failed({ model }: Embeddings, problem: string): EmbeddingsFailed {
  return new EmbeddingsFailed(`the embeddings ${model} answered with ${problem}`);
}
