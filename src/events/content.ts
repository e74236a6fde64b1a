import type { Content, GenerateContentResponseUsageMetadata, Part } from '@google/genai';

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

/** In a part's `partMetadata`, and in the metadata of an artifact. */
const MARK = 'holdfast';

type Metadata = Readonly<Record<string, unknown>>;

/** Metadata with the mark of what a tool brings: whether it can be trusted like the agent's own instruction. */
export function markedMetadata(metadata: Metadata | undefined, trusted: boolean | undefined) {
  return trusted === undefined ? metadata : { ...metadata, [MARK]: { trusted } };
}

/** Undefined without a mark. */
export function trustIn(metadata: Metadata | undefined): boolean | undefined {
  const mark = metadata?.[MARK] as { trusted?: unknown } | null | undefined;
  return typeof mark?.trusted === 'boolean' ? mark.trusted : undefined;
}

export function withTrust(part: Part, trusted: boolean | undefined): Part {
  return trusted === undefined
    ? part
    : { ...part, partMetadata: { ...markedMetadata(part.partMetadata, trusted) } };
}

export function withoutTrust(part: Part): Part {
  return trustIn(part.partMetadata) === undefined ? part : withoutMetadata(part, MARK);
}

/** The part without a field of its `partMetadata`. */
export function withoutMetadata(part: Part, field: string): Part {
  const { partMetadata, ...data } = part;
  if (partMetadata === null || typeof partMetadata !== 'object' || !(field in partMetadata)) return part;
  const { [field]: _, ...others } = partMetadata as Record<string, unknown>;
  return Object.keys(others).length === 0 ? data : { ...data, partMetadata: others };
}
