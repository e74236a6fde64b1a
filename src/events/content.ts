import type { Content } from '@google/genai';

export type {
  CitationMetadata,
  CodeExecutionResult,
  Content,
  ExecutableCode,
  FinishReason,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentResponseUsageMetadata,
  GroundingMetadata,
  Part,
  Transcription,
} from '@google/genai';

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
