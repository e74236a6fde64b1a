import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { ContentUnion, FunctionDeclaration, GenerateContentConfig, ThinkingConfig } from '@google/genai';
import type { Part } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';
import { asJsonSchema } from '../../schema/provider-schema.ts';
import { withObjectRoot } from '../../schema/subschemas.ts';
import type { ModelRequest } from '../llm-request.ts';
import { ModelError } from '../model-errors.ts';
import type { ProviderOptions, ProviderTools } from './language-model.ts';
import { originOf } from './part-origin.ts';
import { type PromptSite, promptOf } from './prompt.ts';
import { isClaude, isOpenAi, isStrict, refusedBy } from './provider-schemas.ts';
import { ToolNames } from './tool-names.ts';

export interface CallSite extends Omit<PromptSite, 'names' | 'hasTools'> {
  isV3: boolean;
  providerOptions: ProviderOptions;
  providerTools: ProviderTools;
  headers: Record<string, string>;
  abortSignal: AbortSignal;
}

export interface BuiltCall {
  options: LanguageModelV4CallOptions;
  names: ToolNames;
}

/** Settings of Gemini that change what an answer is: leaving one out would be another request. */
const REFUSED = ['cachedContent', 'speechConfig', 'imageConfig', 'continuationToken'] as const;

/** Settings that no other provider has, and without which the answer is of the same kind. */
const LEFT_OUT = [
  'audioTimestamp',
  'audioTranscriptionConfig',
  'enableEnhancedCivicAnswers',
  'generationOutputConfig',
  'logprobs',
  'mediaResolution',
  'modelArmorConfig',
  'modelSelectionConfig',
  'responseLogprobs',
  'routingConfig',
  'safetySettings',
  'serviceTier',
  'store',
] as const;

/**
 * The options of one call of a `LanguageModelV4`, from a request in Gemini's words.
 *
 * @throws ModelError (`bad_request`) for what only Gemini has and what the provider would refuse, naming it.
 */
export function callOptions(request: ModelRequest, site: CallSite): BuiltCall {
  const { config = {} } = request;
  assertFits(config, site);
  const declarations = declarationsOf(config);
  const names = new ToolNames([
    ...Object.keys(site.providerTools),
    ...declarations.map(({ name = '' }) => name),
  ]);
  const { tools, toolChoice } = toolsOf(config, declarations, names, site);
  const format = responseFormat(config, site);
  const providerOptions = mergedOptions(site, format);
  const ofPrompt = { ...site, names, hasTools: tools.length > 0 };
  const prompt = promptOf(request.contents, systemText(config.systemInstruction), ofPrompt);
  const headers = { ...site.headers, ...(config.httpOptions?.headers ?? {}) };
  const { temperature, topP, topK, maxOutputTokens, stopSequences, seed } = config;
  const { presencePenalty, frequencyPenalty } = config;
  const reasoning = reasoningOf(request, site, providerOptions);
  const options: LanguageModelV4CallOptions = {
    prompt,
    abortSignal: site.abortSignal,
    ...present({ temperature, topP, topK, maxOutputTokens, stopSequences, seed }),
    ...present({ presencePenalty, frequencyPenalty, toolChoice, reasoning, responseFormat: format }),
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(providerOptions).length > 0 && { providerOptions }),
  };
  return { options, names };
}

function present<T extends object>(values: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  ) as { [Key in keyof T]?: NonNullable<T[Key]> };
}

function assertFits(config: GenerateContentConfig, site: CallSite): void {
  const { candidateCount = 1, responseModalities = [], responseMimeType = '' } = config;
  const refused = REFUSED.find((name) => config[name] !== undefined);
  if (refused !== undefined) throw unfit(site, `generateContentConfig.${refused} is Gemini's own`);
  if (candidateCount > 1) throw unfit(site, 'generateContentConfig.candidateCount: there is one candidate');
  if (responseModalities.some((each) => each.toUpperCase() !== 'TEXT')) {
    throw unfit(site, 'generateContentConfig.responseModalities: only TEXT is asked for');
  }
  if (!['', 'text/plain', 'application/json'].includes(responseMimeType)) {
    throw unfit(
      site,
      `generateContentConfig.responseMimeType: ${JSON.stringify(responseMimeType)} is Gemini's own`,
    );
  }
  for (const name of LEFT_OUT) if (config[name] !== undefined) site.warn(`generateContentConfig.${name}`);
  if (config.toolConfig?.retrievalConfig !== undefined)
    site.warn('generateContentConfig.toolConfig.retrievalConfig');
}

function unfit({ provider, model }: Pick<CallSite, 'provider' | 'model'>, problem: string): ModelError {
  const message = `The model ${model} of ${provider} can't be sent this request: ${problem}. Leave it out, or take another model.`;
  return new ModelError({ kind: 'bad_request', message });
}

function systemText(instruction: ContentUnion | undefined): string | undefined {
  if (instruction === undefined || typeof instruction === 'string') return instruction;
  const parts = Array.isArray(instruction)
    ? instruction
    : 'parts' in instruction
      ? (instruction.parts ?? [])
      : [instruction];
  const texts = parts.map((part) =>
    typeof part === 'string' ? part : 'text' in part ? part.text : undefined,
  );
  return texts.filter((text) => text !== undefined).join('\n\n');
}

function declarationsOf({ tools = [] }: GenerateContentConfig): FunctionDeclaration[] {
  return tools.flatMap((tool) => ('functionDeclarations' in tool ? (tool.functionDeclarations ?? []) : []));
}

function toolsOf(
  config: GenerateContentConfig,
  declarations: readonly FunctionDeclaration[],
  names: ToolNames,
  site: CallSite,
): {
  tools: (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[];
  toolChoice?: LanguageModelV4ToolChoice;
} {
  for (const tool of config.tools ?? []) {
    const builtIn = Object.keys(tool).find((name) => name !== 'functionDeclarations');
    if (builtIn !== undefined)
      throw unfit(site, `the tool ${builtIn} is Gemini's own; the provider's own go into providerTools`);
  }
  const { mode, allowedFunctionNames } = config.toolConfig?.functionCallingConfig ?? {};
  const must = mode === 'ANY' || mode === 'VALIDATED';
  const allowed = must && allowedFunctionNames?.length ? allowedFunctionNames : undefined;
  const offered =
    allowed === undefined ? declarations : declarations.filter(({ name = '' }) => allowed.includes(name));
  const functions = offered.map((declaration) => functionTool(declaration, names, site));
  const own = Object.entries(site.providerTools).map(
    ([name, { id, args = {} }]): LanguageModelV4ProviderTool => ({
      type: 'provider',
      id: id as LanguageModelV4ProviderTool['id'],
      name,
      args,
    }),
  );
  const tools = [...functions, ...own];
  const [only, ...others] = functions;
  if (tools.length === 0) return { tools };
  if (mode === 'NONE') return { tools, toolChoice: { type: 'none' } };
  if (mode !== 'ANY') return { tools };
  if (allowed !== undefined && only !== undefined && others.length === 0) {
    return { tools, toolChoice: { type: 'tool', toolName: only.name } };
  }
  return { tools, toolChoice: { type: 'required' } };
}

function functionTool(
  declaration: FunctionDeclaration,
  names: ToolNames,
  site: CallSite,
): LanguageModelV4FunctionTool {
  const { name = '', description } = declaration;
  const inputSchema = parametersOf(declaration);
  const refused = refusedBy(site, inputSchema);
  if (refused !== undefined)
    throw unfit(site, schemaProblem(`the parameters of the tool ${JSON.stringify(name)}`, refused));
  return {
    type: 'function',
    name: names.wireOf(name),
    ...(description !== undefined && { description }),
    inputSchema: inputSchema as JSONSchema7,
  };
}

/** The JSON Schema of a function's parameters, an object at its root. */
export function parametersOf({
  parametersJsonSchema,
  parameters,
}: FunctionDeclaration): Record<string, unknown> {
  const given: unknown = parametersJsonSchema ?? parameters;
  if (!isRecord(given)) return { type: 'object', properties: {} };
  const schema = asJsonSchema(given);
  return { ...(withObjectRoot(schema) ?? schema) };
}

export function schemaProblem(owner: string, { path, problem }: { path: string; problem: string }): string {
  return `${owner}${path === '' ? '' : `, at ${path}`}: ${problem}`;
}

type ResponseFormat = NonNullable<LanguageModelV4CallOptions['responseFormat']>;

function responseFormat(config: GenerateContentConfig, site: CallSite): ResponseFormat | undefined {
  const { responseJsonSchema, responseSchema, responseMimeType } = config;
  const given: unknown = responseJsonSchema ?? responseSchema;
  if (!isRecord(given)) return responseMimeType === 'application/json' ? { type: 'json' } : undefined;
  const schema = asJsonSchema(given);
  const refused = refusedBy(site, schema);
  if (refused !== undefined) throw unfit(site, schemaProblem("the agent's outputSchema", refused));
  return { type: 'json', schema: schema as JSONSchema7, name: 'response' };
}

/**
 * The user's options over ours. OpenAI keeps responses for a month and the provider package then names them instead of sending
 * them; a session lives longer. Its strict mode refuses schemas with optional properties.
 */
function mergedOptions(site: CallSite, format: ResponseFormat | undefined): SharedV4ProviderOptions {
  const { provider, providerOptions } = site;
  const merged: ProviderOptions = { ...providerOptions };
  if (isOpenAi(provider)) {
    const name = provider.startsWith('azure') && merged.openai === undefined ? 'azure' : 'openai';
    const isLoose = format?.type === 'json' && format.schema !== undefined && !isStrict(format.schema);
    merged[name] = {
      ...(provider.endsWith('.responses') && { store: false }),
      ...(isLoose && { strictJsonSchema: false }),
      ...merged[name],
    };
  }
  return merged as SharedV4ProviderOptions;
}

type Reasoning = NonNullable<LanguageModelV4CallOptions['reasoning']>;

function reasoningOf(
  { config = {}, contents }: ModelRequest,
  site: CallSite,
  options: ProviderOptions,
): Reasoning | undefined {
  const asked = config.thinkingConfig === undefined ? undefined : effortOf(config.thinkingConfig);
  if (asked !== undefined && site.isV3) {
    site.warn(
      'generateContentConfig.thinkingConfig (this version of its provider package has providerOptions only)',
    );
  }
  const effort = site.isV3 ? undefined : asked;
  const typeOf = ([name, field]: (typeof THINKING)[number]) => {
    const given = options[name]?.[field];
    return isRecord(given) ? given.type : 'disabled';
  };
  const asking = THINKING.filter((option) => typeOf(option) !== 'disabled');
  if (asking.length === 0 && (effort === undefined || effort === 'none')) return effort;
  const isEnabled = asking.some((option) => typeOf(option) === 'enabled');
  if (!isClaude(site) || mayThink(contents, site, isEnabled)) return effort;
  // Anthropic refuses to think on about calls that have none of its own thoughts before them.
  site.warn('thinking, in a turn whose calls were made without it');
  for (const [name, field] of asking) options[name] = { ...options[name], [field]: { type: 'disabled' } };
  return 'none';
}

/** Options of providers that let Claude think. */
const THINKING = [
  ['anthropic', 'thinking'],
  ['bedrock', 'reasoningConfig'],
  ['amazonBedrock', 'reasoningConfig'],
] as const;

/** Tokens of a budget that an effort stands for, at most. */
const EFFORTS: readonly [number, Reasoning][] = [
  [0, 'none'],
  [1_024, 'minimal'],
  [4_096, 'low'],
  [16_384, 'medium'],
];

function effortOf({ thinkingLevel, thinkingBudget }: ThinkingConfig): Reasoning | undefined {
  const level = thinkingLevel?.toLowerCase();
  if (level === 'minimal' || level === 'low' || level === 'medium' || level === 'high') return level;
  if (thinkingBudget === undefined || thinkingBudget < 0) return undefined;
  return EFFORTS.find(([most]) => thinkingBudget <= most)?.[1] ?? 'high';
}

/**
 * Whether the calls that the request ends in, and those right before them, are this model's own, and thoughts of its own come first.
 *
 * @param needsThought thinking that a model may leave out needs none.
 */
function mayThink(
  contents: ModelRequest['contents'],
  { provider, model }: CallSite,
  needsThought: boolean,
): boolean {
  const isOwn = (part: Part) => {
    const origin = originOf(part);
    return origin?.provider === provider && origin.model === model;
  };
  const said = contents.filter(({ role }) => role === 'model').map(({ parts = [] }) => parts);
  const isCall = ({ functionCall }: Part) => functionCall !== undefined;
  const calling = said.slice(said.findLastIndex((parts) => !parts.some(isCall)) + 1);
  if (!calling.flat().filter(isCall).every(isOwn)) return false;
  const [begun = []] = calling;
  const thoughts = begun.slice(0, begun.findIndex(isCall)).filter((part) => part.thought && isOwn(part));
  return !needsThought || calling.length === 0 || thoughts.length > 0;
}
