import type { Candidate, GenerateContentResponse, Part } from '@google/genai';
import {
  createLlmResponse,
  firstCandidate,
  type LlmResponse,
  type ProviderResponse,
} from './llm-response.ts';

/**
 * Puts the chunks of a stream together again.
 *
 * The whole has the parts that a call without streaming would have had: pieces of text are joined, and every other
 * part is kept as it came. Gemini refuses a thought signature that was lost or sits on another part, so a text that
 * carries one (or anything besides text) is never joined with its neighbour.
 */
export class StreamAggregator {
  readonly #parts: Part[] = [];
  readonly #candidate: Candidate = {};
  #promptFeedback: ProviderResponse['promptFeedback'];
  #usageMetadata: ProviderResponse['usageMetadata'];
  #modelVersion: string | undefined;
  #chunks = 0;

  /** Takes a chunk and returns its text as partial responses, thoughts and answer apart. */
  add(chunk: GenerateContentResponse): LlmResponse[] {
    this.#chunks += 1;
    this.#usageMetadata = chunk.usageMetadata ?? this.#usageMetadata;
    this.#modelVersion = chunk.modelVersion ?? this.#modelVersion;
    this.#promptFeedback = chunk.promptFeedback ?? this.#promptFeedback;
    const candidate = firstCandidate(chunk);
    if (!candidate) return [];
    const { content, ...rest } = candidate;
    for (const [key, value] of Object.entries(rest)) {
      if (value !== undefined) Object.assign(this.#candidate, { [key]: value });
    }
    const parts = content?.parts ?? [];
    for (const part of parts) this.#append(part);
    return deltas(parts);
  }

  /** Chunks taken so far. */
  get chunks(): number {
    return this.#chunks;
  }

  /**
   * Whether the provider said that it has finished: without a finish reason "the model has not stopped generating",
   * so a stream that ends without one was cut, even where the connection ended cleanly.
   */
  get complete(): boolean {
    return this.#candidate.finishReason !== undefined || this.#promptFeedback?.blockReason !== undefined;
  }

  /** The whole answer: what a call without streaming would have returned. */
  whole(): LlmResponse {
    const answered = this.#parts.length > 0 || this.#candidate.finishReason !== undefined;
    return createLlmResponse({
      candidates: answered ? [{ ...this.#candidate, content: { role: 'model', parts: this.#parts } }] : [],
      promptFeedback: this.#promptFeedback,
      usageMetadata: this.#usageMetadata,
      modelVersion: this.#modelVersion,
    });
  }

  #append(part: Part): void {
    if (!isPlainText(part)) {
      this.#parts.push(part);
      return;
    }
    if (part.text === '') return;
    const last = this.#parts.at(-1);
    if (last && isPlainText(last) && isThought(last) === isThought(part)) {
      last.text += part.text;
    } else {
      this.#parts.push({ ...part });
    }
  }
}

type TextPart = Part & { text: string };

function isPlainText(part: Part): part is TextPart {
  return (
    typeof part.text === 'string' && Object.keys(part).every((key) => key === 'text' || key === 'thought')
  );
}

function isThought(part: Part): boolean {
  return part.thought === true;
}

function deltas(parts: Part[]): LlmResponse[] {
  const runs: TextPart[] = [];
  for (const { text, thought } of parts) {
    if (!text) continue;
    const last = runs.at(-1);
    if (last && isThought(last) === (thought === true)) last.text += text;
    else runs.push(thought ? { text, thought } : { text });
  }
  return runs.map((part) => ({ content: { role: 'model', parts: [part] }, partial: true }));
}
