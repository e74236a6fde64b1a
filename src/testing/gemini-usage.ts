import type { GenerateContentResponseUsageMetadata, Part } from '@google/genai';
import type { GeminiRequest } from './gemini-request.ts';

const CHARS_PER_TOKEN = 4;
const TOKENS_PER_BLOB = 258;

/**
 * Token counts as the API reports them, estimated at four characters a token and 258 tokens an inline file. Equal
 * requests and parts have equal counts.
 */
export function estimateUsage(
  request: GeminiRequest,
  parts: readonly Part[],
  given: GenerateContentResponseUsageMetadata = {},
): GenerateContentResponseUsageMetadata {
  const thoughts = parts.filter((part) => part.thought);
  const usage: GenerateContentResponseUsageMetadata = {
    promptTokenCount: promptTokens(request),
    candidatesTokenCount: tokens(parts.filter((part) => !part.thought)),
    ...(thoughts.length > 0 && { thoughtsTokenCount: tokens(thoughts) }),
    ...given,
  };
  return { ...usage, totalTokenCount: given.totalTokenCount ?? sum(usage) };
}

/** The usage of a stream's chunk: the prompt and the share of the output that has been sent. */
export function partialUsage(
  whole: GenerateContentResponseUsageMetadata,
  share: number,
): GenerateContentResponseUsageMetadata {
  const usage = { ...whole, candidatesTokenCount: Math.floor((whole.candidatesTokenCount ?? 0) * share) };
  return { ...usage, totalTokenCount: sum(usage) };
}

function promptTokens({ contents, systemInstruction, tools }: GeminiRequest): number {
  const system = systemInstruction?.parts ?? [];
  const messages = contents.flatMap((content) => content.parts ?? []);
  return tokens([...system, ...messages]) + (tools ? tokensOf(JSON.stringify(tools)) : 0);
}

function tokens(parts: readonly Part[]): number {
  return parts.reduce((total, part) => {
    if (part.inlineData) return total + TOKENS_PER_BLOB;
    const { thoughtSignature: _, ...counted } = part;
    return total + tokensOf(part.text ?? JSON.stringify(counted));
  }, 0);
}

function tokensOf(value: string): number {
  return Math.ceil(value.length / CHARS_PER_TOKEN);
}

function sum(usage: GenerateContentResponseUsageMetadata): number {
  const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  return promptTokenCount + candidatesTokenCount + thoughtsTokenCount + (usage.toolUsePromptTokenCount ?? 0);
}
