import type {
  LanguageModelV4Citation,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { FinishReason as GeminiFinishReason } from '@google/genai';
import type { CitationMetadata, LlmUsageMetadata, Part } from '../../events/content.ts';
import { isRecord, parsedJson } from '../../protocol/json.ts';
import { createLlmResponse, type LlmResponse } from '../llm-response.ts';
import { ModelError } from '../model-errors.ts';
import { unreadableArguments } from '../unreadable-arguments.ts';
import { type PartOrigin, withOrigin } from './part-origin.ts';
import type { ToolNames } from './tool-names.ts';

interface AnswerSite {
  provider: string;
  model: string;
  names: ToolNames;
  /** Told of each setting that the provider has not taken. */
  warn: (feature: string) => void;
}

type Metadata = Record<string, Record<string, unknown>>;

/** A block of a stream that is still open, or a whole one. */
interface Block {
  kind: 'text' | 'reasoning';
  text: string;
  metadata: Metadata | undefined;
}

interface OpenInput {
  name: string;
  text: string;
  ended: boolean;
  providerExecuted: boolean;
}

/** Characters of one answer, at most: a server that never stops writing fills no worker's memory. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** Characters that each part, and each source, counts beside its own: it has its origin with it. */
const OF_A_PART = 100;

/** JSON bytes of what an answer's provider tells beside its parts, at most. */
const MOST_METADATA = 32 * 1024;

const FINISH: Record<LanguageModelV4FinishReason['unified'], string> = {
  stop: 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'content-filter': 'SAFETY',
  error: 'OTHER',
  interrupted: 'OTHER',
  other: 'OTHER',
};

/** Puts an answer of an AI SDK model together, from a stream or at once, in Gemini's words. */
export class Answer {
  readonly #site: AnswerSite;
  /** In the order in which they began. */
  #parts: (Part | Block)[] = [];
  readonly #open = new Map<string, Block>();
  readonly #inputs = new Map<string, OpenInput>();
  readonly #citations: NonNullable<CitationMetadata['citations']> = [];
  readonly #told: Record<string, unknown> = {};
  #characters = 0;
  #modelId: string | undefined;
  #finish: { reason: LanguageModelV4FinishReason; usage: LanguageModelV4Usage } | undefined;

  constructor(site: AnswerSite) {
    this.#site = site;
  }

  /** The answer of a call without a stream. */
  all(result: LanguageModelV4GenerateResult, isJson: boolean): LlmResponse {
    this.#warnings(result.warnings);
    for (const content of result.content) this.#add(content);
    this.#respond(result.response ?? {});
    this.#end(result.finishReason, result.usage, result.providerMetadata);
    if (isJson && result.structuredOutputText !== undefined) this.#replaceTexts(result.structuredOutputText);
    return this.whole();
  }

  /** Takes a part of a stream and returns the response to show meanwhile, if there is any. */
  take(part: LanguageModelV4StreamPart): LlmResponse | undefined {
    switch (part.type) {
      case 'stream-start':
        this.#warnings(part.warnings);
        return undefined;
      case 'response-metadata':
        this.#respond(part);
        return undefined;
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        return undefined;
      case 'text-delta':
      case 'reasoning-delta':
        return this.#grow(part.type === 'text-delta' ? 'text' : 'reasoning', part);
      case 'text-end':
      case 'reasoning-end': {
        const key = keyOf(part.type === 'text-end' ? 'text' : 'reasoning', part.id);
        const block = this.#open.get(key);
        if (block !== undefined) this.#describe(block, part.providerMetadata);
        if (part.type === 'text-end') this.#cite(part.citations);
        this.#open.delete(key);
        return undefined;
      }
      case 'tool-input-start': {
        const { id, toolName: name, providerExecuted = false } = part;
        this.#count(OF_A_PART + name.length);
        this.#inputs.set(id, { name, text: '', ended: false, providerExecuted });
        return undefined;
      }
      case 'tool-input-delta':
        return this.#input(part.id, part.delta);
      case 'tool-input-end': {
        const input = this.#inputs.get(part.id);
        if (input !== undefined) input.ended = true;
        return undefined;
      }
      case 'finish':
        // Bedrock's package gives no reason where the stream's end has not come.
        if (part.finishReason.raw !== undefined || this.#site.provider !== 'amazon-bedrock')
          this.#end(part.finishReason, part.usage, part.providerMetadata);
        return undefined;
      case 'error':
        throw part.error;
      case 'ping':
      case 'raw':
        return undefined;
      default:
        this.#add(part);
        return undefined;
    }
  }

  /**
   * What a call without a stream would have returned.
   *
   * @throws ModelError where the provider has not come to the end of its answer.
   */
  whole(): LlmResponse {
    const finish = this.#finish;
    if (finish === undefined || finish.reason.unified === 'interrupted') {
      throw new ModelError({ kind: 'network', message: "The model's stream ended without a finish reason." });
    }
    const { unified, raw } = finish.reason;
    if (unified === 'error') {
      const message = `The model provider failed within its answer (${raw ?? 'error'}).`;
      throw new ModelError({ kind: 'unavailable', message });
    }
    this.#callsWithoutEnd();
    const parts = this.#parts.flatMap((part) => ('kind' in part ? this.#blockPart(part) : [part]));
    const finishReason = FINISH[unified] ?? 'OTHER';
    const response = createLlmResponse({
      candidates: [
        {
          content: { role: 'model', parts },
          finishReason: finishReason as GeminiFinishReason,
          ...(raw !== undefined &&
            finishReason !== 'STOP' && { finishMessage: `The provider's reason: ${raw}.` }),
          ...(this.#citations.length > 0 && { citationMetadata: { citations: this.#citations } }),
        },
      ],
      promptFeedback: undefined,
      usageMetadata: usageOf(finish.usage),
      modelVersion: this.#modelId ?? this.#site.model,
    });
    const { provider, model } = this.#site;
    return { ...response, customMetadata: { aiSdk: boundedMetadata({ provider, model }, this.#told) } };
  }

  #add(content: LanguageModelV4Content): void {
    switch (content.type) {
      case 'text':
      case 'reasoning':
        this.#count(content.text.length);
        this.#block(content.type, content.text, content.providerMetadata);
        if (content.type === 'text') this.#cite(content.citations);
        return;
      case 'tool-call':
        this.#inputs.delete(content.toolCallId);
        this.#count(content.input.length);
        this.#push(content.providerExecuted ? this.#verbatim(content) : this.#call(content));
        return;
      case 'file':
        this.#file(content);
        return;
      case 'source':
        this.#cite([{ source: content }]);
        return;
      case 'tool-approval-request':
        throw new ModelError({
          kind: 'bad_request',
          message:
            "The provider asks for the approval of one of its own tools' calls, which nobody here can give: set the tool to need none.",
        });
      default:
        // A preliminary result is followed by the result itself.
        if (content.type !== 'tool-result' || content.preliminary !== true)
          this.#push(this.#verbatim(content));
    }
  }

  #begin(kind: Block['kind'], id: string, metadata: unknown): Block {
    const block = this.#block(kind, '', metadata);
    this.#open.set(keyOf(kind, id), block);
    return block;
  }

  #block(kind: Block['kind'], text: string, metadata: unknown): Block {
    const block: Block = { kind, text, metadata: undefined };
    this.#count(OF_A_PART);
    this.#describe(block, metadata);
    this.#parts.push(block);
    return block;
  }

  /** Later metadata of a block replace earlier ones. */
  #describe(block: Block, given: unknown): void {
    const metadata = metadataOf(given);
    if (metadata === undefined) return;
    this.#count(lengthOf(metadata) - lengthOf(block.metadata));
    block.metadata = metadata;
  }

  #push(part: Part): void {
    this.#count(OF_A_PART + lengthOf(part.partMetadata));
    this.#parts.push(part);
  }

  #cite(citations: readonly LanguageModelV4Citation[] = []): void {
    for (const { source, startIndex, endIndex } of citations) {
      const citation = {
        ...(source.sourceType === 'url' && { uri: source.url }),
        ...(source.title !== undefined && { title: source.title }),
        ...(startIndex !== undefined && { startIndex }),
        ...(endIndex !== undefined && { endIndex }),
      };
      this.#count(OF_A_PART + lengthOf(citation));
      this.#citations.push(citation);
    }
  }

  #grow(
    kind: Block['kind'],
    { id, delta, providerMetadata }: { id: string; delta: string; providerMetadata?: unknown },
  ): LlmResponse | undefined {
    const block = this.#open.get(keyOf(kind, id)) ?? this.#begin(kind, id, undefined);
    this.#count(delta.length);
    block.text += delta;
    this.#describe(block, providerMetadata);
    if (delta === '') return undefined;
    return partial(kind === 'text' ? { text: delta } : { text: delta, thought: true });
  }

  #input(id: string, delta: string): LlmResponse | undefined {
    const input = this.#inputs.get(id);
    if (input === undefined) return undefined;
    this.#count(delta.length);
    input.text += delta;
    if (input.providerExecuted || delta === '') return undefined;
    const functionCall = { id, name: this.#site.names.ownOf(input.name), willContinue: true };
    return partial({ functionCall, partMetadata: { argumentsDelta: delta } });
  }

  /** The packages send each call whole at its end. One that doesn't has sent all of its arguments by then. */
  #callsWithoutEnd(): void {
    for (const [toolCallId, { name: toolName, text: input, ended, providerExecuted }] of this.#inputs) {
      if (ended && !providerExecuted) this.#push(this.#call({ toolCallId, toolName, input }));
    }
    this.#inputs.clear();
  }

  #call(call: { toolCallId: string; toolName: string; input: string; providerMetadata?: unknown }): Part {
    const { toolCallId: id, toolName, input, providerMetadata } = call;
    const given = input.trim() === '' ? {} : parsedJson(input);
    const args = isRecord(given) ? given : unreadableArguments('they are no JSON object');
    const functionCall = { name: this.#site.names.ownOf(toolName), args, ...(id !== '' && { id }) };
    return withOrigin({ functionCall }, this.#origin(metadataOf(providerMetadata)));
  }

  #verbatim(content: LanguageModelV4Content): Part {
    return withOrigin({}, { ...this.#origin(undefined), content: plainJson(content) });
  }

  #file(content: Extract<LanguageModelV4Content, { type: 'file' }>): void {
    const { mediaType: mimeType, providerMetadata } = content;
    // The third version has the bytes themselves there.
    const given: unknown = content.data;
    const origin = this.#origin(metadataOf(providerMetadata));
    const data = isRecord(given) && 'type' in given ? (given.data ?? given.url) : given;
    if (data instanceof URL) {
      this.#push(withOrigin({ fileData: { fileUri: data.href, mimeType } }, origin));
      return;
    }
    const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : String(data);
    this.#count(base64.length);
    this.#push(withOrigin({ inlineData: { data: base64, mimeType } }, origin));
  }

  #blockPart({ kind, text, metadata }: Block): Part[] {
    if (kind === 'reasoning') return [withOrigin({ text, thought: true }, this.#origin(metadata))];
    if (metadata === undefined) return text === '' ? [] : [{ text }];
    return [withOrigin({ text }, this.#origin(metadata))];
  }

  #origin(metadata: Metadata | undefined): PartOrigin {
    const { provider, model } = this.#site;
    return { provider, model, ...(metadata && { metadata }) };
  }

  #replaceTexts(text: string): void {
    const kept = this.#parts.filter((part) => !('kind' in part) || part.kind !== 'text');
    this.#parts = [...kept, { text }];
  }

  #respond({ id, modelId }: { id?: string; modelId?: string }): void {
    if (typeof modelId === 'string' && modelId !== '') this.#modelId = modelId;
    if (typeof id === 'string') this.#told.responseId = id;
  }

  #end(reason: LanguageModelV4FinishReason, usage: LanguageModelV4Usage, providerMetadata: unknown): void {
    this.#finish = { reason, usage };
    Object.assign(this.#told, {
      finishReason: reason.raw,
      providerMetadata: metadataOf(providerMetadata),
      usage: usage.raw,
    });
  }

  /** Texts of warnings may quote the conversation: they stand with the answer, and logs name the setting only. */
  #warnings(warnings: readonly SharedV4Warning[] = []): void {
    for (const warning of warnings) {
      if (warning.type === 'unsupported' || warning.type === 'compatibility')
        this.#site.warn(warning.feature);
      else if (warning.type === 'deprecated') this.#site.warn(warning.setting);
    }
    if (warnings.length > 0) this.#told.warnings = warnings;
  }

  #count(characters: number): void {
    this.#characters += characters;
    if (this.#characters <= MOST_CHARACTERS) return;
    const message = `The model's answer has more than ${MOST_CHARACTERS} characters.`;
    throw new ModelError({ kind: 'bad_request', message });
  }
}

function keyOf(kind: Block['kind'], id: string): string {
  return `${kind} ${id}`;
}

function partial(part: Part): LlmResponse {
  return { content: { role: 'model', parts: [part] }, partial: true };
}

function metadataOf(given: unknown): Metadata | undefined {
  if (!isRecord(given) || Object.keys(given).length === 0) return undefined;
  return plainJson(given) as Metadata;
}

function lengthOf(value: object | undefined): number {
  return value === undefined ? 0 : JSON.stringify(value).length;
}

/** As the store will have it. */
function plainJson(value: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}

function boundedMetadata(
  origin: { provider: string; model: string },
  told: Record<string, unknown>,
): Record<string, unknown> {
  const json = JSON.stringify(told);
  return json.length > MOST_METADATA ? origin : { ...origin, ...(JSON.parse(json) as object) };
}

/** Tokens by the names of Gemini: what was read from a cache, or written, is part of the prompt; thoughts are no part of the candidates. */
function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): LlmUsageMetadata {
  const prompt = inputTokens?.total;
  const output = outputTokens?.total;
  const thoughts = outputTokens?.reasoning;
  const candidates = output === undefined ? outputTokens?.text : Math.max(0, output - (thoughts ?? 0));
  return {
    ...(prompt !== undefined && { promptTokenCount: prompt }),
    ...(candidates !== undefined && { candidatesTokenCount: candidates }),
    ...(thoughts !== undefined && { thoughtsTokenCount: thoughts }),
    ...(inputTokens?.cacheRead !== undefined && { cachedContentTokenCount: inputTokens.cacheRead }),
    ...(inputTokens?.cacheWrite !== undefined && { cacheWriteTokenCount: inputTokens.cacheWrite }),
    ...(prompt !== undefined && output !== undefined && { totalTokenCount: prompt + output }),
  };
}
