import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';

/** Options by the provider's name, as the AI SDK's `providerOptions`. */
export type ProviderOptions = Record<string, Record<string, unknown>>;

/** Tools that the provider runs itself, by the name that the model calls them by. */
export type ProviderTools = Record<string, { id: string; args?: Record<string, unknown> }>;

/** A model of the AI SDK: `LanguageModelV4` or `LanguageModelV3` of `@ai-sdk/provider`, as each of its provider packages makes them. */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v4' | 'v3';
  /** Such as `openai.responses`. */
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: PromiseLike<Record<string, RegExp[]>> | Record<string, RegExp[]>;
  doGenerate(options: never): PromiseLike<object>;
  doStream(options: never): PromiseLike<object>;
}

/** Options of {@link AiSdkModel}. */
export interface AiSdkModelParams {
  /**
   * A model of a provider package, such as `openai('gpt-5')`, or its name: the provider, a slash, and the model's id there. For a name
   * the provider's package must be installed; it is loaded at the first call.
   */
  model: AiSdkLanguageModel | string;
  /** The model's name in price tables, metrics and rate limits. Defaults to the given name, or `openai/gpt-5` for the model above. */
  name?: string;
  /** Models of one key share a rate limit. Defaults to `name`. */
  limitKey?: string;
  /** Options of the provider, by its name: `{ anthropic: { thinking: { type: 'enabled', budgetTokens: 4096 } } }`. */
  providerOptions?: ProviderOptions;
  /** Tools that the provider runs itself, by name: `{ web_search: openai.tools.webSearch() }`. */
  providerTools?: ProviderTools;
  /** Headers added to every request. */
  headers?: Record<string, string>;
}

/** @throws DefinitionError for anything but a model of the third or fourth version. */
export function assertModel(model: unknown, field: string): asserts model is AiSdkLanguageModel {
  const version: unknown =
    typeof model === 'object' && model !== null ? Reflect.get(model, 'specificationVersion') : undefined;
  if (version === 'v4' || version === 'v3') return;
  const problem =
    typeof version === 'string'
      ? `expected version v4 or v3 of the AI SDK's language models, got ${JSON.stringify(version)}: update the provider's package`
      : `expected a model of the AI SDK, such as openai('gpt-5'), or its name; got ${kindOf(model)}`;
  throw new DefinitionError({ owner: 'AiSdkModel', field, problem });
}
