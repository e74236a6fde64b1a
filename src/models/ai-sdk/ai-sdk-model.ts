import { setTimeout } from 'node:timers/promises';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { getLogger } from '../../logger.ts';
import { boundedResponse } from '../../net/bounded-response.ts';
import { patientFetch } from '../../net/patient-fetch.ts';
import { secretsInHeaders } from '../../net/removed-secrets.ts';
import { isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { assertKnownFields } from '../../schema/known-fields.ts';
import { BaseLlm, type DefinedRequest } from '../base-llm.ts';
import type { ModelRequest } from '../llm-request.ts';
import type { LlmResponse } from '../llm-response.ts';
import { type FailedCall, ModelError } from '../model-errors.ts';
import { Answer } from './answer.ts';
import { callOptions, parametersOf, schemaProblem } from './call-options.ts';
import { failureOf } from './failures.ts';
import { type AiSdkLanguageModel, type AiSdkModelParams, assertModel } from './language-model.ts';
import {
  assertInstalled,
  loadPackage,
  type NamedModel,
  namedModel,
  PROVIDER_PACKAGES,
  providerKeys,
} from './provider-packages.ts';
import { refusedBy } from './provider-schemas.ts';
import { forV3 } from './third-version.ts';

const FIELDS: Record<keyof AiSdkModelParams, 'string' | 'object' | undefined> = {
  model: undefined,
  name: 'string',
  limitKey: 'string',
  providerOptions: 'object',
  providerTools: 'object',
  headers: 'object',
};

/** What each value of an option by name has to be. */
const MEMBERS: Record<string, { expected: string; isFine: (value: unknown) => boolean }> = {
  providerOptions: { expected: 'an object of options', isFine: isRecord },
  providerTools: {
    expected: "a tool of the provider's package, like openai.tools.webSearch()",
    isFine: (value) =>
      isRecord(value) && typeof value.id === 'string' && (value.args === undefined || isRecord(value.args)),
  },
  headers: { expected: 'a text', isFine: (value) => typeof value === 'string' },
};

/** Different warnings of one model that are logged, at most. */
const MOST_WARNINGS = 50;

/**
 * Bytes of one answer, at most: packages read an answer whole before {@link Answer} counts its characters. Events of a stream are many times
 * as long as what they tell.
 */
const MOST_BYTES = 128 * 1024 * 1024;

/** Milliseconds: with more a timer ends at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/** The newest secrets of headers that are kept: those of all requests under way. */
const MOST_SECRETS = 500;

/** Milliseconds that a failure waits for headers, whose secrets it must not tell. */
const LONGEST_SIGN_IN = 1_000;

const NAMED_MODEL = Symbol.for('holdfast.namedModel');

/** The provider and id of an `AiSdkModel`, of this or of another copy of the package, that was named by a text: its key is a variable. */
export function nameGiven(model: BaseLlm): NamedModel | undefined {
  return NAMED_MODEL in model ? (model as AiSdkModel)[NAMED_MODEL] : undefined;
}

/**
 * Any model of the AI SDK: OpenAI, Anthropic, Bedrock, Mistral, OpenRouter, local servers. Each call is one request: retries are
 * Temporal's. The provider's metadata (signatures, encrypted reasoning) is kept with the part that it came with, and given back to
 * the same model verbatim; another model doesn't get it.
 *
 * OpenAI is told to keep no responses (`store: false`), because a session may live longer than they do.
 *
 * @throws DefinitionError from the constructor, naming the wrong parameter or the package to install.
 * @example
 * import { openai } from '@ai-sdk/openai';
 * const agent = new LlmAgent({ name: 'clerk', model: new AiSdkModel({ model: openai('gpt-5') }) });
 * const other = new LlmAgent({ name: 'other', model: 'anthropic/claude-sonnet-4-5' });
 */
export class AiSdkModel extends BaseLlm {
  static override readonly supportedModels: Array<string | RegExp> = Object.keys(PROVIDER_PACKAGES).map(
    (prefix) => new RegExp(`${prefix}/.+`),
  );

  // Private to the runtime, so that a logged agent shows no key.
  readonly #params: AiSdkModelParams;
  readonly #named: NamedModel | undefined;
  readonly #warned = new Set<string>();
  /** Values of headers that the provider package has sent, the newest last. */
  readonly #secrets = new Set<string>();
  #loaded: AiSdkLanguageModel | undefined;

  constructor(params: AiSdkModelParams) {
    assertParams(params);
    const { model, name } = params;
    super({ model: name ?? (typeof model === 'string' ? model : nameOf(model)) });
    this.#params = params;
    if (typeof model !== 'string') {
      this.#loaded = model;
      return;
    }
    this.#named = namedModel(model);
    if (this.#named === undefined) {
      const known = Object.keys(PROVIDER_PACKAGES).join(', ');
      const problem = `expected a provider, a slash and a model, such as "openai/gpt-5"; providers are ${known}`;
      throw new DefinitionError({ owner: 'AiSdkModel', field: 'model', problem });
    }
    assertInstalled(model, this.#named);
  }

  get [NAMED_MODEL](): NamedModel | undefined {
    return this.#named;
  }

  override get limitKey(): string {
    return this.#params.limitKey ?? this.model;
  }

  /** @throws DefinitionError for a schema that the provider would refuse, with its tool and the path in it. */
  override assertTakes({ owner, declarations, outputSchema }: DefinedRequest): void {
    for (const declaration of declarations) {
      this.#assertSchema(parametersOf(declaration), `${owner}, tool ${JSON.stringify(declaration.name)}`);
    }
    if (outputSchema !== undefined) this.#assertSchema(outputSchema, `${owner}, outputSchema`);
  }

  #assertSchema(schema: unknown, owner: string): void {
    const model = this.#loaded?.modelId ?? this.#named?.id ?? this.model;
    const refused = refusedBy({ provider: this.#providerName(), model }, schema);
    if (refused !== undefined)
      throw new DefinitionError({ owner, problem: schemaProblem('the schema', refused) });
  }

  /** @throws ModelError where the model gave no answer, or a stream broke: then nothing final was yielded. */
  override async *generateContentAsync(
    llmRequest: ModelRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const abandoned = new AbortController();
    const late = timeoutOf(llmRequest.config?.httpOptions?.timeout);
    const signals = [abortSignal, llmRequest.config?.abortSignal, late];
    const aborted = AbortSignal.any(signals.filter((signal) => signal !== undefined));
    let progress: NonNullable<FailedCall['progress']> = 'preparing';
    let model = this.#loaded;
    try {
      aborted.throwIfAborted();
      this.#assertSame(llmRequest);
      model ??= await this.#load();
      const request = { ...llmRequest, contents: [...llmRequest.contents] };
      this.maybeAppendUserContent(request);
      const isV3 = model.specificationVersion === 'v3';
      const { provider, modelId } = model;
      const warn = (feature: string) => this.#warn(feature);
      const { providerOptions = {}, providerTools = {}, headers = {} } = this.#params;
      const built = callOptions(request, {
        ...{ provider, model: modelId, isV3, urls: await model.supportedUrls, warn },
        ...{ providerOptions, providerTools, headers },
        abortSignal: AbortSignal.any([aborted, abandoned.signal]),
      });
      const { names } = built;
      const answer = new Answer({ provider, model: modelId, names, warn });
      const options = isV3 ? (forV3(built.options, warn) as LanguageModelV4CallOptions) : built.options;
      const asked = model as unknown as LanguageModelV4;
      progress = 'sent';
      if (stream) {
        const { stream: parts } = await asked.doStream(options);
        progress = 'answering';
        for await (const part of parts) {
          const partial = answer.take(part);
          if (partial !== undefined) yield partial;
        }
        yield answer.whole();
      } else {
        yield answer.all(await asked.doGenerate(options), options.responseFormat?.type === 'json');
      }
    } catch (error) {
      if (error instanceof ModelError) throw error;
      throw failureOf(error, {
        abortSignal: aborted,
        secrets: [
          ...(await this.#secretsOf(model)),
          ...secretsInHeaders(llmRequest.config?.httpOptions?.headers),
        ],
        progress,
        provider: this.#providerName(),
        keyVariable: this.#named?.provider.keyVariable,
      });
    } finally {
      // A package may let go of a stream that isn't read to its end without closing the connection.
      abandoned.abort();
    }
  }

  /** Callbacks may name another model, which only a model of that name could ask. */
  #assertSame({ model = this.model }: ModelRequest): void {
    if (model === this.model) return;
    throw new ModelError({
      kind: 'bad_request',
      message: `The request names the model ${JSON.stringify(model)}, and this AiSdkModel asks ${JSON.stringify(this.model)} only.`,
    });
  }

  async #load(): Promise<AiSdkLanguageModel> {
    const named = this.#named as NamedModel;
    const { provider, id } = named;
    const loaded = await loadPackage(this.model, named);
    const create = loaded[provider.create];
    if (typeof create !== 'function') {
      const problem = `the package ${provider.package} has no ${provider.create}: npm install ${provider.package}@latest`;
      throw new DefinitionError({ owner: `model ${JSON.stringify(this.model)}`, problem });
    }
    const made: unknown = create({ ...provider.options?.(), fetch: this.#fetch });
    const model: unknown = typeof made === 'function' ? made(id) : undefined;
    assertModel(model, `the package ${provider.package}`);
    this.#loaded = model;
    return model;
  }

  /** Models think longer than Node's fetch waits, and only here the key is seen that the package has found. */
  readonly #fetch: typeof fetch = async (input, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    for (const secret of secretsInHeaders(headers)) {
      this.#secrets.delete(secret);
      this.#secrets.add(secret);
    }
    // Some packages sign each request anew.
    for (const oldest of this.#secrets) {
      if (this.#secrets.size <= MOST_SECRETS) break;
      this.#secrets.delete(oldest);
    }
    return boundedResponse(await patientFetch(input as string, init), MOST_BYTES, () => {
      const message = `The model's answer has more than ${MOST_BYTES} bytes.`;
      return new ModelError({ kind: 'bad_request', message });
    });
  };

  #providerName(): string {
    if (this.#loaded !== undefined) return this.#loaded.provider;
    const { prefix = '' } = this.#named ?? {};
    return prefix === 'openai' ? 'openai.responses' : `${prefix}.`;
  }

  async #secretsOf(model: AiSdkLanguageModel | undefined): Promise<string[]> {
    return [
      ...this.#secrets,
      ...secretsInHeaders(this.#params.headers),
      ...providerKeys(),
      ...(await configuredSecrets(model)),
    ];
  }

  /** Once for each model and feature: a request is made many times. */
  #warn(feature: string): void {
    const shown = visibleExcerpt(feature, 200);
    if (this.#warned.has(shown) || this.#warned.size >= MOST_WARNINGS) return;
    this.#warned.add(shown);
    getLogger().warn(`the model ${this.model} is asked without ${shown}, which its provider does not take`);
  }
}

/** @throws ModelError for a time that is none. */
function timeoutOf(timeout: number | undefined): AbortSignal | undefined {
  if (timeout === undefined) return undefined;
  if (Number.isSafeInteger(timeout) && timeout > 0)
    return AbortSignal.timeout(Math.min(timeout, LONGEST_TIMEOUT));
  throw new ModelError({
    kind: 'bad_request',
    message: `generateContentConfig.httpOptions.timeout: expected whole milliseconds, 1 or more, got ${timeout}.`,
  });
}

function nameOf({ provider, modelId }: AiSdkLanguageModel): string {
  const [root = provider] = provider.split('.');
  return `${root}/${modelId}`;
}

/** Provider packages make their headers, with the key, by a function of their models; some sign in first. */
async function configuredSecrets(model: AiSdkLanguageModel | undefined): Promise<string[]> {
  try {
    const config: unknown = model === undefined ? undefined : Reflect.get(model, 'config');
    if (!isRecord(config) || typeof config.headers !== 'function') return [];
    const late = setTimeout(LONGEST_SIGN_IN, undefined, { ref: false });
    const headers: unknown = await Promise.race([config.headers(), late]);
    if (!isRecord(headers)) return [];
    const texts = Object.entries(headers).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return secretsInHeaders(Object.fromEntries(texts));
  } catch {
    // Without a key there is none to hide.
    return [];
  }
}

function assertParams(params: unknown): asserts params is AiSdkModelParams {
  assertKnownFields('AiSdkModel', params, Object.keys(FIELDS));
  for (const [field, expected] of Object.entries(FIELDS)) {
    const value = params[field];
    const actual = kindOf(value);
    if (expected === undefined || value === undefined || actual === expected) continue;
    throw new DefinitionError({ owner: 'AiSdkModel', field, problem: `expected ${expected}, got ${actual}` });
  }
  for (const [field, { expected, isFine }] of Object.entries(MEMBERS)) {
    for (const [name, value] of Object.entries(params[field] ?? {})) {
      if (isFine(value)) continue;
      const problem = `expected ${expected}, got ${kindOf(value)}`;
      throw new DefinitionError({ owner: 'AiSdkModel', field: `${field}.${name}`, problem });
    }
  }
  if (typeof params.model !== 'string') assertModel(params.model, 'model');
}
