import type {
  Candidate,
  CitationMetadata,
  Content,
  FinishReason,
  GenerateContentResponse,
  GroundingMetadata,
  SafetyRating,
} from '@google/genai';
import type { LlmUsageMetadata } from '../events/content.ts';

/** A model's answer, or a piece of one. Semantics: `LlmResponse` of `@google/adk` 2.0.0, without the live fields. */
export interface LlmResponse {
  /** Role `model`; the parts are those of the provider, unchanged. Absent where the model gave none. */
  content?: Content;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  /** A piece of an answer that is still coming; the whole follows in a response without this mark. */
  partial?: boolean;
  turnComplete?: boolean;
  /** Why there is no content: the finish reason, the reason for which the prompt was blocked, or `UNKNOWN_ERROR`. */
  errorCode?: string;
  /** The provider's words for `errorCode`, or ours naming the harm categories where it has none. */
  errorMessage?: string;
  interrupted?: boolean;
  /** JSON only. */
  customMetadata?: { [key: string]: unknown };
  /** Tokens of the whole call. */
  usageMetadata?: LlmUsageMetadata;
  finishReason?: FinishReason;
  /** The model that answered, as the provider names it. */
  modelVersion?: string;
}

/** The part of a provider's response that {@link createLlmResponse} reads. */
export type ProviderResponse = Pick<
  GenerateContentResponse,
  'candidates' | 'promptFeedback' | 'usageMetadata' | 'modelVersion'
>;

/**
 * Turns a provider's response into an {@link LlmResponse}: its first candidate, or why there is none.
 *
 * Semantics: `createLlmResponse` of `@google/adk` 2.0.0, except that a candidate which stopped normally without a
 * part is an answer without content and no error (as in adk-python), and that an `errorCode` always comes with an
 * `errorMessage`.
 */
export function createLlmResponse(response: ProviderResponse): LlmResponse {
  return present({
    ...outcome(response),
    usageMetadata: response.usageMetadata,
    modelVersion: response.modelVersion,
  });
}

function outcome(response: ProviderResponse): LlmResponse {
  const candidate = firstCandidate(response);
  if (candidate) return ofCandidate(candidate);
  const { promptFeedback } = response;
  if (!promptFeedback) return { errorCode: 'UNKNOWN_ERROR', errorMessage: 'Unknown error.' };
  const errorCode = promptFeedback.blockReason ?? 'UNKNOWN_ERROR';
  return {
    errorCode,
    errorMessage:
      promptFeedback.blockReasonMessage ??
      `The prompt was blocked (${errorCode})${blamed(promptFeedback.safetyRatings)}.`,
  };
}

function ofCandidate(candidate: Candidate): LlmResponse {
  const { content, finishReason, finishMessage, citationMetadata, groundingMetadata } = candidate;
  if (content?.parts?.length) {
    return {
      content: content.role ? content : { role: 'model', ...content },
      groundingMetadata,
      citationMetadata,
      finishReason,
    };
  }
  if (finishReason === 'STOP') return { groundingMetadata, citationMetadata, finishReason };
  const errorCode = finishReason ?? 'UNKNOWN_ERROR';
  return {
    errorCode,
    errorMessage:
      finishMessage ??
      `The model stopped without an answer (${errorCode})${blamed(candidate.safetyRatings)}.`,
    citationMetadata,
    finishReason,
  };
}

/** With `candidateCount` over 1 a chunk of a stream may carry only another candidate than the first. */
export function firstCandidate(response: ProviderResponse): Candidate | undefined {
  return response.candidates?.find((candidate) => (candidate.index ?? 0) === 0);
}

function blamed(ratings: SafetyRating[] | undefined): string {
  const blocked = (ratings ?? []).filter((rating) => rating.blocked);
  return blocked.length > 0 ? `: ${blocked.map((rating) => rating.category).join(', ')}` : '';
}

function present(response: LlmResponse): LlmResponse {
  return Object.fromEntries(Object.entries(response).filter(([, value]) => value !== undefined));
}
