import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { Content, FunctionCall, FunctionResponse, Part } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';
import { excerpt } from '../../protocol/visible-text.ts';
import { originOf, type PartOrigin, UNSIGNED_CALL } from './part-origin.ts';
import type { ToolNames } from './tool-names.ts';

/** The model that a prompt is for. */
export interface PromptSite {
  provider: string;
  model: string;
  names: ToolNames;
  /** URLs that the provider fetches itself, by media type. */
  urls: Record<string, RegExp[]>;
  /** The request offers tools. */
  hasTools: boolean;
  /** Told of each thing that the provider can't be sent. */
  warn: (feature: string) => void;
}

type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type AssistantPart = AssistantMessage['content'][number];
type UserPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** The result of a call that the transcript has none for: providers refuse a call without one. */
const UNANSWERED = 'the call has no response';

/** Words between results and the user's next message, which models of Mistral want. */
const NOTHING_SAID = '…';

/** Characters of an address that a model is told instead of its file: one may hold the file itself. */
const LONGEST_URL = 500;

/** Models of Mistral refuse all other ids, wherever they run. */
const NINE = /^[A-Za-z0-9]{9}$/;
const ANY_ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The conversation as messages of the AI SDK. Each call gets an id of its own in the request, and its result that id, whichever
 * ids the transcript has. Reasoning, signatures and parts that only their own provider reads go back to the model that made
 * them, verbatim, and to no other.
 */
export function promptOf(
  contents: readonly Content[],
  system: string | undefined,
  site: PromptSite,
): LanguageModelV4Prompt {
  return new Prompt(site).of(contents, system);
}

class Prompt {
  readonly #site: PromptSite;
  readonly #messages: LanguageModelV4Prompt = [];
  readonly #ids = new Set<string>();
  readonly #isOfMistral: boolean;
  /** Bedrock takes no calls in a request without tools: its package would leave them out, results and all. */
  readonly #callsAreText: boolean;
  #calls = 0;

  constructor(site: PromptSite) {
    this.#site = site;
    this.#isOfMistral = /[sx]tral/i.test(`${site.provider} ${site.model}`);
    this.#callsAreText = site.provider.startsWith('amazon-bedrock') && !site.hasTools;
  }

  of(contents: readonly Content[], system: string | undefined): LanguageModelV4Prompt {
    if (system !== undefined && system !== '') this.#messages.push({ role: 'system', content: system });
    for (let index = 0; index < contents.length; ) {
      const content = contents[index] as Content;
      if (content.role !== 'model') {
        this.#user(content.parts ?? []);
        index += 1;
        continue;
      }
      let next = index + 1;
      while (next < contents.length && contents[next]?.role !== 'model') next += 1;
      this.#exchange(
        content.parts ?? [],
        contents.slice(index + 1, next).flatMap(({ parts = [] }) => parts),
      );
      index = next;
    }
    return this.#messages;
  }

  /** What the model said, the results of its calls, and what the user said then. */
  #exchange(said: readonly Part[], following: readonly Part[]): void {
    const calls = new Map<Part, LanguageModelV4ToolCallPart>();
    const parts = said.flatMap((part) => this.#assistantParts(part, calls));
    const last = this.#messages.at(-1);
    if (parts.length > 0) {
      if (last?.role === 'assistant') last.content.push(...parts);
      else this.#messages.push({ role: 'assistant', content: parts });
    }
    const answers = answersOf([...calls.keys()], following);
    if (this.#callsAreText) {
      const unanswered = [...calls.keys()].filter((part) => !answers.has(part));
      this.#user(unanswered.map(({ functionCall }) => withoutResponse(functionCall)));
      this.#user(following);
      return;
    }
    if (calls.size > 0) {
      const results = [...calls].map(([part, call]) => resultOf(call, answers.get(part)?.functionResponse));
      this.#messages.push({ role: 'tool', content: results });
    }
    const used = new Set(answers.values());
    this.#user(following.filter((part) => !used.has(part)));
  }

  #user(parts: readonly Part[]): void {
    const content = parts.flatMap((part) => this.#userParts(part));
    if (content.length === 0) return;
    const last = this.#messages.at(-1);
    if (last?.role === 'user') {
      last.content.push(...content);
      return;
    }
    // "Unexpected role 'user' after role 'tool'"
    if (last?.role === 'tool' && this.#isOfMistral)
      this.#messages.push({ role: 'assistant', content: [textPart(NOTHING_SAID)] });
    this.#messages.push({ role: 'user', content });
  }

  #userParts(part: Part): UserPart[] {
    const { text, functionResponse, thought } = part;
    if (functionResponse !== undefined) {
      // Its call is not in the request, so that no provider would take it as a result.
      return [
        textPart(
          `Result of ${functionResponse.name ?? 'a call'}: ${JSON.stringify(functionResponse.response)}`,
        ),
      ];
    }
    if (thought) return [];
    if (text !== undefined) return text === '' ? [] : [textPart(text)];
    return this.#media(part);
  }

  #media(part: Part): UserPart[] {
    const { inlineData, fileData } = part;
    if (inlineData?.data !== undefined) {
      const { data, mimeType = 'application/octet-stream', displayName: filename } = inlineData;
      if (isText(mimeType)) {
        const text = Buffer.from(data, 'base64').toString();
        return [textPart(filename === undefined ? text : `${filename}:\n${text}`)];
      }
      return [{ type: 'file', mediaType: mimeType, data: { type: 'data', data }, ...named(filename) }];
    }
    if (fileData?.fileUri !== undefined) return [this.#file(fileData)];
    return codeText(part).map(textPart);
  }

  #file({ fileUri = '', mimeType = '', displayName }: NonNullable<Part['fileData']>): UserPart {
    if (URL.canParse(fileUri) && takesUrl(this.#site.urls, mimeType, fileUri)) {
      const mediaType = mimeType === '' ? 'application/octet-stream' : mimeType;
      return { type: 'file', mediaType, data: { type: 'url', url: new URL(fileUri) }, ...named(displayName) };
    }
    this.#site.warn(
      `files at ${URL.canParse(fileUri) ? new URL(fileUri).protocol : 'such'} URLs (${mimeType})`,
    );
    return textPart(
      `[The file ${displayName ?? ''} (${mimeType}) at ${excerpt(fileUri, LONGEST_URL)} can't be read by this model.]`,
    );
  }

  #assistantParts(part: Part, calls: Map<Part, LanguageModelV4ToolCallPart>): AssistantPart[] {
    const origin = originOf(part);
    const own = this.#isOwn(origin) ? origin : undefined;
    if (origin?.content !== undefined) return own?.content === undefined ? [] : contentPart(own.content);
    const { text, thought, functionCall, inlineData } = part;
    const options = optionsOf(own);
    if (functionCall !== undefined) {
      const call = this.#call(functionCall, own);
      calls.set(part, call);
      if (!this.#callsAreText) return [call];
      return [textPart(`Call of ${functionCall.name ?? 'a tool'}: ${JSON.stringify(call.input)}`)];
    }
    if (thought) return own === undefined ? [] : [{ type: 'reasoning', text: text ?? '', ...options }];
    if (text !== undefined) {
      return text === '' && own?.metadata === undefined ? [] : [{ type: 'text', text, ...options }];
    }
    if (inlineData?.data === undefined) return codeText(part).map(textPart);
    const { data, mimeType: mediaType = 'application/octet-stream' } = inlineData;
    if (own !== undefined) return [{ type: 'file', mediaType, data: { type: 'data', data }, ...options }];
    return [textPart(`[a file of type ${mediaType}]`)];
  }

  #isOwn(origin: PartOrigin | undefined): boolean {
    return origin?.provider === this.#site.provider && origin.model === this.#site.model;
  }

  #call(
    { id, name = '', args = {} }: FunctionCall,
    own: PartOrigin | undefined,
  ): LanguageModelV4ToolCallPart {
    const isUnsigned = own === undefined && this.#site.provider.startsWith('google');
    return {
      type: 'tool-call',
      toolCallId: this.#idOf(id, own !== undefined),
      toolName: this.#site.names.wireOf(name),
      input: args,
      ...(isUnsigned ? { providerOptions: { google: { thoughtSignature: UNSIGNED_CALL } } } : optionsOf(own)),
    };
  }

  /** Counted from the beginning of the conversation, so that a longer one begins as the shorter one did. */
  #idOf(id: string | undefined, isOwn: boolean): string {
    const isTaken = (given: string) => (this.#isOfMistral ? NINE.test(given) : isOwn || ANY_ID.test(given));
    const fits = id !== undefined && id !== '' && isTaken(id);
    let chosen = fits ? id : undefined;
    while (chosen === undefined || this.#ids.has(chosen)) {
      this.#calls += 1;
      chosen = `call${this.#calls.toString().padStart(5, '0')}`;
    }
    this.#ids.add(chosen);
    return chosen;
  }
}

/** The part with the response of each call: by its id, else the next one of its name that has no id of another call. */
function answersOf(calls: readonly Part[], following: readonly Part[]): Map<Part, Part> {
  const answers = new Map<Part, Part>();
  const left = new Set(following.filter(({ functionResponse }) => functionResponse !== undefined));
  const answer = (fits: (call: FunctionCall, response: FunctionResponse) => boolean) => {
    for (const call of calls) {
      if (answers.has(call)) continue;
      for (const part of left) {
        if (!fits(call.functionCall ?? {}, part.functionResponse ?? {})) continue;
        answers.set(call, part);
        left.delete(part);
        break;
      }
    }
  };
  answer(({ id }, response) => id !== undefined && id === response.id);
  answer(
    (call, response) => call.name === response.name && (call.id === undefined || response.id === undefined),
  );
  return answers;
}

function withoutResponse(call: FunctionCall | undefined): Part {
  return { functionResponse: { name: call?.name ?? '', response: { error: UNANSWERED } } };
}

function resultOf(
  { toolCallId, toolName, providerOptions }: LanguageModelV4ToolCallPart,
  response: FunctionResponse | undefined,
): LanguageModelV4ToolResultPart {
  const output = response === undefined ? errorText(UNANSWERED) : outputOf(response);
  return { type: 'tool-result', toolCallId, toolName, output, ...(providerOptions && { providerOptions }) };
}

/** `{ error }`, `{ output }` and `{ result }` are ADK's wrappings of a value. */
function outputOf({ response = {} }: FunctionResponse): LanguageModelV4ToolResultOutput {
  const [[field, value] = [], ...others] = Object.entries(response);
  if (others.length === 0 && field === 'error') {
    return typeof value === 'string' ? errorText(value) : { type: 'error-json', value: value as Json };
  }
  const only = others.length === 0 && (field === 'result' || field === 'output');
  if (only && typeof value === 'string') return { type: 'text', value };
  return { type: 'json', value: (only ? value : response) as Json };
}

type Json = Extract<LanguageModelV4ToolResultOutput, { type: 'json' }>['value'];

function errorText(value: string): LanguageModelV4ToolResultOutput {
  return { type: 'error-text', value };
}

function optionsOf(own: PartOrigin | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return own?.metadata === undefined ? {} : { providerOptions: own.metadata as SharedV4ProviderOptions };
}

/** A part that was kept verbatim, as its provider takes it back. */
function contentPart({ providerMetadata, ...content }: Record<string, unknown>): AssistantPart[] {
  const options = isRecord(providerMetadata)
    ? { providerOptions: providerMetadata as SharedV4ProviderOptions }
    : {};
  switch (content.type) {
    case 'tool-call':
      return [{ ...content, input: jsonOr(content.input), ...options } as LanguageModelV4ToolCallPart];
    case 'tool-result': {
      const { result, isError, ...rest } = content;
      const output = { type: isError === true ? 'error-json' : 'json', value: result };
      return [{ ...rest, output, ...options } as LanguageModelV4ToolResultPart];
    }
    case 'custom':
    case 'reasoning-file':
      return [{ ...content, ...options } as AssistantPart];
    default:
      return [];
  }
}

function jsonOr(input: unknown): unknown {
  if (typeof input !== 'string') return input;
  try {
    return JSON.parse(input === '' ? '{}' : input);
  } catch {
    return input;
  }
}

/** Code and results of Gemini's own executor, which other providers have no parts for. */
function codeText({ executableCode, codeExecutionResult }: Part): string[] {
  if (executableCode !== undefined) return [`\`\`\`\n${executableCode.code ?? ''}\n\`\`\``];
  if (codeExecutionResult !== undefined) return [`\`\`\`output\n${codeExecutionResult.output ?? ''}\n\`\`\``];
  return [];
}

function isText(mimeType: string): boolean {
  return mimeType.startsWith('text/') || mimeType === 'application/json';
}

/** Patterns are media types, whole or with a star, as `supportedUrls` of the AI SDK has them. */
function takesUrl(urls: Record<string, RegExp[]>, mimeType: string, url: string): boolean {
  const type = mimeType.toLowerCase();
  return Object.entries(urls).some(([pattern, expressions]) => {
    const start = pattern.replace(/\*\/?\*?$/, '').toLowerCase();
    const fits = pattern.endsWith('*') ? type.startsWith(start) : type === start;
    return fits && expressions.some((expression) => expression.test(url));
  });
}

function named(filename: string | undefined): { filename?: string } {
  return filename === undefined ? {} : { filename };
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text };
}
