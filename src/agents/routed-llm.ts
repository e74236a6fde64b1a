import { BaseLlm, type DefinedRequest, isBaseLlm } from '../models/base-llm.ts';
import type { LlmResponse } from '../models/llm-response.ts';
import { ModelError, rateLimitIn, toModelError } from '../models/model-errors.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { LlmRequest } from '../tools/base-tool.ts';

/** Failures so far, for a router that is asked again. */
export interface RouteErrors {
  failedKeys: ReadonlySet<string>;
  /** Of a model: a {@link ModelError}, whose `kind` says why it failed. Of an agent: an error with the `code` of its failure. */
  lastError: unknown;
}

/**
 * Chooses a model for a request, by its key. Asked again when the chosen one has failed: undefined, or a key that has failed, lets
 * the step fail with the last error. Semantics: `LlmRouter` of `@google/adk` 2.0.0.
 */
export type LlmRouter = (
  models: Readonly<Record<string, BaseLlm>>,
  request: LlmRequest,
  errorContext?: RouteErrors,
) => Promise<string | undefined> | string | undefined;

/** Options of {@link RoutedLlm}. */
export interface RoutedLlmParams {
  /** By key. In a list, each model's name is its key. */
  models: Readonly<Record<string, BaseLlm>> | readonly BaseLlm[];
  /** Chooses a model for each request, by its key. */
  router: LlmRouter;
  /** Name of the routed model. Defaults to `RoutedLlm[…]` with the keys and names of its models. */
  modelName?: string;
}

/** The route of a step, in its event's `customMetadata.route`. */
interface Route {
  key: string;
  model: string;
  /** Models that failed before, in order. */
  failed?: { key: string; code: string }[];
}

const ROUTED_LLM = Symbol.for('holdfast.routedLlm');

/**
 * A model that asks one of several, chosen by a function. Another one is asked when the chosen one fails before it has said anything,
 * as often as the router names one. The answer's event has the route in `customMetadata.route`, and the answer's price is that of the model
 * that gave it. A step whose answer is recorded is not routed again. Semantics: `RoutedLlm` of `@google/adk` 2.0.0, but an aborted call
 * has no other route.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * const model = new RoutedLlm({
 *   models: { main: new Gemini(), spare: new AiSdkModel({ model: 'anthropic/claude-sonnet-4-5' }) },
 *   router: (_models, _request, errors) => (errors === undefined ? 'main' : 'spare'),
 * });
 */
export class RoutedLlm extends BaseLlm {
  readonly [ROUTED_LLM] = true;
  readonly #models: Readonly<Record<string, BaseLlm>>;
  readonly #router: LlmRouter;

  constructor(params: RoutedLlmParams) {
    assertKnownFields('RoutedLlm', params, ['models', 'router', 'modelName']);
    const models = routesByKey(params.models, {
      ...{ owner: 'RoutedLlm', noun: 'model', expected: 'a BaseLlm' },
      isRoute: isBaseLlm,
      nameOf: ({ model }: BaseLlm) => model,
    });
    const { router, modelName } = params as unknown as RoutedLlmParams;
    if (typeof router !== 'function') throw invalid('router', `expected a function, got ${kindOf(router)}`);
    if (modelName !== undefined && typeof modelName !== 'string') {
      throw invalid('modelName', `expected a string, got ${kindOf(modelName)}`);
    }
    const names = Object.entries(models).map(([key, { model }]) => `${key} (${model})`);
    super({ model: modelName ?? `RoutedLlm[${names.join(', ')}]` });
    this.#models = models;
    this.#router = router;
  }

  /** The models that a request may be given to, by key. */
  get routes(): Readonly<Record<string, BaseLlm>> {
    return this.#models;
  }

  override assertTakes(defined: DefinedRequest): void {
    for (const model of Object.values(this.#models)) model.assertTakes?.(defined);
  }

  /** @throws ModelError of the last model, where the router names no other. */
  override async *generateContentAsync(
    llmRequest: LlmRequest,
    stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const failed: NonNullable<Route['failed']> = [];
    const tried = new Set<string>();
    let key = await this.#route(llmRequest, undefined);
    if (!key) throw wrong(noRoute(undefined, this.#models));
    for (;;) {
      const model = Object.hasOwn(this.#models, key) ? this.#models[key] : undefined;
      if (model === undefined) throw wrong(noRoute(key, this.#models));
      tried.add(key);
      let hasSaid = false;
      try {
        const asked = this.#nameFor(llmRequest, model);
        const request = { ...llmRequest, contents: [...llmRequest.contents], model: asked };
        for await (const response of model.generateContentAsync(request, stream, abortSignal)) {
          const route = { key, model: asked, ...(failed.length > 0 && { failed }) };
          yield response.partial ? response : withRoute(response, route);
          hasSaid = true;
        }
        return;
      } catch (error) {
        const failure = toModelError(error);
        if (hasSaid || failure.kind === 'aborted' || abortSignal?.aborted) throw failure;
        const next: string | undefined = await this.#route(llmRequest, {
          failedKeys: new Set(tried),
          lastError: failure,
        });
        if (next === undefined || tried.has(next)) throw failure;
        failed.push({ key, code: failure.code });
        key = next;
      }
    }
  }

  /** A name that a callback has written stays. */
  #nameFor({ model: asked }: LlmRequest, { model }: BaseLlm): string {
    return asked === undefined || asked === this.model ? model : asked;
  }

  async #route(request: LlmRequest, errors: RouteErrors | undefined): Promise<string | undefined> {
    try {
      const key: unknown = await (errors === undefined
        ? this.#router(this.#models, request)
        : this.#router(this.#models, request, errors));
      if (key === undefined || key === null) return undefined;
      if (typeof key === 'string') return key;
      throw new TypeError(`expected a key of its models, got ${kindOf(key)}`);
    } catch (error) {
      // It may have asked a model itself.
      const limit = rateLimitIn(error);
      if (limit !== undefined)
        throw new ModelError({ kind: 'rate_limited', message: thrownMessage(error), ...limit });
      throw wrong(`The router of ${this.model} failed: ${thrownMessage(error)}`);
    }
  }
}

export function isRoutedLlm(model: unknown): model is RoutedLlm {
  return typeof model === 'object' && model !== null && ROUTED_LLM in model && model[ROUTED_LLM] === true;
}

/** The models that may answer in a model's place; itself where it routes to none. */
export function answeringModels(model: BaseLlm): BaseLlm[] {
  return isRoutedLlm(model) ? Object.values(model.routes).flatMap(answeringModels) : [model];
}

/** The name of the model that gave a response of a routed one; undefined for any other, and for a response of user code. */
export function answeredBy(model: BaseLlm, { customMetadata }: LlmResponse): string | undefined {
  const route = isRoutedLlm(model) ? customMetadata?.route : undefined;
  return isRecord(route) && typeof route.model === 'string' ? route.model : undefined;
}

/** Another response in a routed model's place, with the route of the one that it replaces: the model was asked, and has its price. */
export function withRouteOf(model: BaseLlm, replaced: LlmResponse, response: LlmResponse): LlmResponse {
  const route = isRoutedLlm(model) ? replaced.customMetadata?.route : undefined;
  if (route === undefined || response.customMetadata?.route !== undefined) return response;
  return { ...response, customMetadata: { ...response.customMetadata, route } };
}

/** A routed model may be a route itself: the model that answered is the innermost one's. */
function withRoute(response: LlmResponse, route: Route): LlmResponse {
  const inner = response.customMetadata?.route;
  const told = isRecord(inner) ? { ...route, model: inner.model, within: inner } : route;
  return { ...response, customMetadata: { ...response.customMetadata, route: told } };
}

/**
 * Models or agents of a router, by key. In a list, the name of each is its key.
 *
 * @param of `noun`: their name in messages; `expected`: the kind of each.
 * @throws DefinitionError
 */
export function routesByKey<Route>(
  given: unknown,
  of: {
    owner: string;
    noun: 'model' | 'agent';
    expected: string;
    isRoute: (value: unknown) => value is Route;
    nameOf: (route: Route) => string;
  },
): Readonly<Record<string, Route>> {
  const { owner, noun, expected, isRoute, nameOf } = of;
  const field = `${noun}s`;
  if (!Array.isArray(given) && !isRecord(given)) {
    throw new DefinitionError({ owner, field, problem: `expected ${field}, in a list or by key` });
  }
  const entries = Array.isArray(given)
    ? given.map((route: unknown): [string, unknown] => [isRoute(route) ? nameOf(route) : '', route])
    : Object.entries(given);
  const routes = new Map<string, Route>();
  for (const [key, route] of entries) {
    const name = JSON.stringify(key);
    if (!isRoute(route)) {
      const problem = `expected ${expected}, got ${kindOf(route)}`;
      throw new DefinitionError({ owner, field: `${field}[${name}]`, problem });
    }
    if (routes.has(key)) {
      const problem = `two ${field} are named ${name}: give them keys of their own`;
      throw new DefinitionError({ owner, field, problem });
    }
    routes.set(key, route);
  }
  return Object.freeze(Object.fromEntries(routes));
}

/** The problem of a router that has named no route. Its beginning is ADK's text. */
export function noRoute(key: string | undefined, routes: object): string {
  const keys = Object.keys(routes).map((each) => JSON.stringify(each));
  const problem =
    key === undefined ? 'Initial routing failed, no item selected' : `Item not found for key: ${key}`;
  return `${problem}: the router must return one of ${keys.join(', ') || 'none, for there is none'}`;
}

function invalid(field: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: 'RoutedLlm', field, problem });
}

/** The same router would choose the same again. */
function wrong(message: string): ModelError {
  return new ModelError({ kind: 'bad_request', message });
}
