import { randomBytes } from 'node:crypto';
import type { Content, GenerateContentResponseUsageMetadata, Part } from '@google/genai';
import type { BlockedReply, ContentReply, GeminiFinishReason, RawReply } from './gemini-reply.ts';
import type { GeminiRequest } from './gemini-request.ts';
import { isSigningModel, type ThoughtSignatures } from './gemini-signatures.ts';
import { estimateUsage, partialUsage } from './gemini-usage.ts';

export type ResponseContext = Readonly<{
  request: GeminiRequest;
  signatures: ThoughtSignatures;
  callIds: boolean | undefined;
  wordsPerChunk: number;
}>;

type Candidate = { content?: Content; finishReason?: GeminiFinishReason; index: number };
type GeminiResponse = {
  candidates?: Candidate[];
  promptFeedback?: { blockReason: string };
  usageMetadata: GenerateContentResponseUsageMetadata;
  modelVersion: string;
  responseId: string;
};

/**
 * The responses that a stream sends, in order: text a few words at a time, every call whole in a chunk of its own,
 * usage in all of them and the finish reason in the last.
 */
export function contentChunks(reply: ContentReply, context: ResponseContext): GeminiResponse[] {
  const { request, wordsPerChunk } = context;
  const parts = finishParts(reply, context);
  const usage = estimateUsage(request, parts, reply.usage);
  const pieces = parts.flatMap((part) => splitPart(part, wordsPerChunk));
  const stamp = responseStamp(request);
  if (pieces.length === 0)
    return [{ candidates: [candidate([], finish(reply))], usageMetadata: usage, ...stamp }];
  return pieces.map((piece, index) => {
    const isLast = index === pieces.length - 1;
    return {
      candidates: [candidate([piece], isLast ? finish(reply) : undefined)],
      usageMetadata: isLast ? usage : partialUsage(usage, (index + 1) / pieces.length),
      ...stamp,
    };
  });
}

/** The one response of a call that does not stream. */
export function wholeContent(reply: ContentReply, context: ResponseContext): GeminiResponse {
  const parts = finishParts(reply, context);
  return {
    candidates: [candidate(parts, finish(reply))],
    usageMetadata: estimateUsage(context.request, parts, reply.usage),
    ...responseStamp(context.request),
  };
}

export function blockedResponse(reply: BlockedReply, { request }: ResponseContext): GeminiResponse {
  return {
    promptFeedback: { blockReason: reply.reason },
    usageMetadata: estimateUsage(request, []),
    ...responseStamp(request),
  };
}

/** Scripted responses, noted so that their parts are accepted when the client sends them back. */
export function rawChunks(reply: RawReply, { request, signatures }: ResponseContext): object[] {
  signatures.remember(request.model, reply.responses.flatMap(partsOf));
  return [...reply.responses];
}

/** Scripted chunks as one response: the last one with the parts of all. */
export function mergeChunks(chunks: readonly object[]): object {
  const [last = {}] = chunks.slice(-1);
  const parts = chunks.flatMap(partsOf);
  if (chunks.length < 2 || parts.length === 0) return last;
  const [first = {}] = (last as { candidates?: object[] }).candidates ?? [];
  return { ...last, candidates: [{ ...first, content: { role: 'model', parts } }] };
}

function finishParts(reply: ContentReply, { request, signatures, callIds }: ResponseContext): Part[] {
  const parts = signatures.sign(request.model, reply.parts);
  if (!(callIds ?? isSigningModel(request.model))) return parts;
  return parts.map((part) => {
    if (!part.functionCall || part.functionCall.id) return part;
    return { ...part, functionCall: { id: randomBytes(6).toString('base64url'), ...part.functionCall } };
  });
}

function splitPart(part: Part, wordsPerChunk: number): Part[] {
  if (part.text === undefined) return [part];
  const words = part.text.match(/\s*\S+\s*|\s+/g) ?? [''];
  const pieces: Part[] = [];
  for (let index = 0; index < words.length; index += wordsPerChunk) {
    const { thoughtSignature: _, ...bare } = part;
    pieces.push({ ...bare, text: words.slice(index, index + wordsPerChunk).join('') });
  }
  const last = pieces.at(-1);
  if (last && part.thoughtSignature) last.thoughtSignature = part.thoughtSignature;
  return pieces;
}

function candidate(parts: Part[], finishReason: GeminiFinishReason | undefined): Candidate {
  const content = parts.length > 0 && { content: { role: 'model', parts } };
  return { ...content, ...(finishReason && { finishReason }), index: 0 };
}

function finish(reply: ContentReply): GeminiFinishReason {
  return reply.finishReason ?? 'STOP';
}

function responseStamp({ model }: GeminiRequest): { modelVersion: string; responseId: string } {
  return { modelVersion: model, responseId: randomBytes(15).toString('base64url') };
}

function partsOf(response: object): Part[] {
  const { candidates = [] } = response as { candidates?: { content?: Content }[] };
  return candidates[0]?.content?.parts ?? [];
}
