import { type Part, withoutMetadata } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';

/** Where a part of a model of the AI SDK came from, with all that its provider wants back. Plain JSON. */
export interface PartOrigin {
  /** As the model names it, such as `openai.responses`. */
  provider: string;
  /** The model's id at its provider. */
  model: string;
  /** The provider's metadata, verbatim: signatures, encrypted reasoning, ids of items. */
  metadata?: Record<string, Record<string, unknown>>;
  /** A part that no field of Gemini's has room for, verbatim: calls that the provider has run, and their results. */
  content?: Record<string, unknown>;
}

/** In `partMetadata`, which the store keeps as it is and which Gemini doesn't read. */
const FIELD = 'aiSdk';

/** Gemini's documented value for calls that another model has made. https://ai.google.dev/gemini-api/docs/thought-signatures */
export const UNSIGNED_CALL = 'skip_thought_signature_validator';

export function withOrigin(part: Part, origin: PartOrigin): Part {
  return { ...part, partMetadata: { ...part.partMetadata, [FIELD]: origin } };
}

/** Undefined for a part of a person, of Gemini, or of a model of one's own. */
export function originOf({ partMetadata }: Part): PartOrigin | undefined {
  const origin = isRecord(partMetadata) ? partMetadata[FIELD] : undefined;
  if (!isRecord(origin) || typeof origin.provider !== 'string' || typeof origin.model !== 'string')
    return undefined;
  const { provider, model, metadata, content } = origin;
  return {
    provider,
    model,
    ...(isRecord(metadata) && { metadata: metadata as NonNullable<PartOrigin['metadata']> }),
    ...(isRecord(content) && { content }),
  };
}

/** The part without its origin, or undefined where nothing else is in it. */
export function withoutOrigin(part: Part): Part | undefined {
  const rest = withoutMetadata(part, FIELD);
  return rest === part || Object.keys(rest).length > 0 ? rest : undefined;
}
