import type {
  Content,
  Fetch,
  GenerateContentConfig,
  GenerateContentParameters,
  HttpOptions,
  Part,
  ToolConfig,
} from '@google/genai';
import { originOf, UNSIGNED_CALL, withoutOrigin } from './ai-sdk/part-origin.ts';
import { isGemini1Model } from './gemini-generation.ts';
import type { ModelRequest } from './llm-request.ts';

/** Values that one call adds to a request. */
interface GeminiCall {
  model: string;
  /** It goes to Vertex AI, and not to the Gemini API. */
  vertexai: boolean;
  fetch: Fetch;
  abortSignal: AbortSignal;
}

/**
 * The SDK's parameters for a request, made of copies: the SDK rewrites tool declarations and schemas in place. The Gemini API
 * refuses labels and names of files, so they are left out for it, as `@google/adk` 2.0.0 does; Vertex AI refuses that a response is to be
 * followed by others, and the Gemini API ignores it, so neither is told.
 */
export function geminiParameters(llmRequest: ModelRequest, call: GeminiCall): GenerateContentParameters {
  const { config = {} } = llmRequest;
  const { labels, ...settings } = config;
  const contents = withParts(withoutForeignParts(llmRequest.contents, call.model), (part) =>
    withoutContinuing(call.vertexai ? part : withoutNames(part)),
  );
  const toolConfig = wholeCalls(config.toolConfig);
  return {
    model: call.model,
    contents,
    config: {
      ...settings,
      ...(call.vertexai && labels !== undefined && { labels }),
      ...(config.tools && { tools: copied(config.tools) }),
      ...(toolConfig && { toolConfig }),
      automaticFunctionCalling: { disable: true },
      abortSignal: call.abortSignal,
      httpOptions: httpOptions({ contents, config }, call.fetch),
    },
  };
}

function httpOptions(
  { contents, config }: Pick<ModelRequest, 'contents' | 'config'>,
  fetch: Fetch,
): HttpOptions {
  const verbatim = verbatimBody(contents);
  return {
    ...config?.httpOptions,
    ...(verbatim && { extraBody: { ...verbatim, ...config?.httpOptions?.extraBody } }),
    retryOptions: { attempts: 1 },
    fetch,
  };
}

/** Contents are shared and frozen: those that change are copied. */
function withParts(contents: Content[], change: (part: Part) => Part): Content[] {
  const changed = contents.map((content) => {
    const parts = content.parts?.map(change);
    const isSame = parts?.every((part, index) => part === content.parts?.[index]) ?? true;
    return isSame ? content : { ...content, ...(parts && { parts }) };
  });
  return changed.every((content, index) => content === contents[index]) ? contents : changed;
}

/**
 * Contents without what only models of the AI SDK read: their reasoning and metadata. Their calls get the value that tells Gemini
 * not to look for a signature, which newer models of it demand.
 */
function withoutForeignParts(contents: Content[], model: string): Content[] {
  if (!contents.some(({ parts }) => parts?.some((part) => originOf(part) !== undefined))) return contents;
  return contents.flatMap((content) => {
    const parts = content.parts?.flatMap((part) => geminiPart(part, model));
    if (parts === undefined || parts.length === content.parts?.length) {
      return [parts === undefined ? content : { ...content, parts }];
    }
    return parts.length === 0 ? [] : [{ ...content, parts }];
  });
}

function geminiPart(part: Part, model: string): Part[] {
  if (originOf(part) === undefined) return [part];
  const own = part.thought ? undefined : withoutOrigin(part);
  if (own === undefined) return [];
  if (own.functionCall === undefined || own.thoughtSignature !== undefined || !takesSignatures(model))
    return [own];
  return [{ ...own, thoughtSignature: UNSIGNED_CALL }];
}

/** Gemini 2 doesn't validate them, and earlier models don't know them. */
function takesSignatures(model: string): boolean {
  return !isGemini1Model(model) && !/(^|\/)gemini-2/.test(model);
}

function withoutNames(part: Part): Part {
  const { inlineData, fileData, ...rest } = part;
  if (inlineData?.displayName === undefined && fileData?.displayName === undefined) return part;
  return {
    ...rest,
    ...(inlineData && { inlineData: unnamed(inlineData) }),
    ...(fileData && { fileData: unnamed(fileData) }),
  };
}

function withoutContinuing(part: Part): Part {
  const { functionResponse } = part;
  if (functionResponse?.willContinue === undefined) return part;
  const { willContinue: _, ...response } = functionResponse;
  return { ...part, functionResponse: response };
}

function unnamed<Data extends { displayName?: string }>({ displayName: _, ...data }: Data) {
  return data;
}

type Tools = NonNullable<GenerateContentConfig['tools']>;

function copied(tools: Tools): Tools {
  return tools.map((tool) =>
    'functionDeclarations' in tool && tool.functionDeclarations
      ? {
          ...tool,
          functionDeclarations: tool.functionDeclarations.map((declaration) => ({ ...declaration })),
        }
      : tool,
  );
}

function wholeCalls(toolConfig: ToolConfig | undefined): ToolConfig | undefined {
  if (!toolConfig?.functionCallingConfig?.streamFunctionCallArguments) return toolConfig;
  const { streamFunctionCallArguments: _, ...functionCallingConfig } = toolConfig.functionCallingConfig;
  return { ...toolConfig, functionCallingConfig };
}

/** Fields of a part that `@google/genai` 3.1.0 sends; it leaves out all others. */
const SENT_PART_FIELDS: ReadonlySet<string> = new Set<keyof Part>([
  'audioTranscription',
  'codeExecutionResult',
  'executableCode',
  'fileData',
  'functionCall',
  'functionResponse',
  'inlineData',
  'mediaProcessing',
  'mediaResolution',
  'partMetadata',
  'speechMetadata',
  'text',
  'thought',
  'thoughtSignature',
  'toolCall',
  'toolResponse',
  'videoMetadata',
]);

const SENT_CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'name', 'args', 'partialArgs', 'willContinue']);

/**
 * A body for `httpOptions.extraBody` that makes the SDK send `contents` as they are, where it would drop fields
 * that are newer than itself. The provider may refuse parts that come back without a field it had sent, as it did
 * when thought signatures were new.
 *
 * @returns undefined where the SDK sends everything anyway.
 */
function verbatimBody(contents: Content[]): { contents: Content[] } | undefined {
  const loses = contents.some((content) => content.parts?.some(losesFields));
  return loses ? { contents } : undefined;
}

function losesFields(part: Part): boolean {
  return (
    hasOtherFields(part, SENT_PART_FIELDS) ||
    (part.functionCall !== undefined && hasOtherFields(part.functionCall, SENT_CALL_FIELDS))
  );
}

function hasOtherFields(value: object, known: ReadonlySet<string>): boolean {
  return Object.keys(value).some((field) => !known.has(field));
}
