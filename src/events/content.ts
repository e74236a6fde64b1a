import type { Content, GenerateContentResponseUsageMetadata } from '@google/genai';

export type {
  CitationMetadata,
  CodeExecutionResult,
  Content,
  ExecutableCode,
  FinishReason,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GroundingMetadata,
  Part,
  Transcription,
} from '@google/genai';

/** Tokens of a model call: the counts of Gemini, and one that other providers have. */
export interface LlmUsageMetadata extends GenerateContentResponseUsageMetadata {
  /** Tokens of the prompt that the provider wrote into its cache: a part of `promptTokenCount`. */
  cacheWriteTokenCount?: number;
}

/**
 * The text parts of a content, thoughts left out.
 *
 * @param separator stands between any two of them.
 */
export function textOf(content: Content | undefined, separator = ''): string {
  return (content?.parts ?? [])
    .flatMap(({ text, thought }) => (text && !thought ? [text] : []))
    .join(separator);
}
