import { HoldfastError, hasCode } from '../../contract/error.ts';
import type { AuthCredential } from '../../events/auth-credential.ts';
import { getLogger } from '../../logger.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { didYouMean } from '../../schema/known-fields.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { BaseTool } from '../base-tool.ts';
import { BaseToolset, FAILURE_LASTS } from '../base-toolset.ts';
import { inSlices } from '../in-slices.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import type { OperationSecurity, SchemeCredential } from './api-security.ts';
import {
  type DocumentSource,
  type LoadedDocument,
  type LoadedOperation,
  loadDocument,
} from './load-document.ts';
import {
  DocumentProblem,
  type OperationObject,
  quoted,
  type SecurityRequirement,
  type ServerObject,
} from './openapi-document.ts';
import { uniqueNames } from './operation-names.ts';
import { isSafeMethod, RestApiTool, type RestApiToolOptions, withOperation } from './rest-api-tool.ts';
import { allowAdvice, refusalOf } from './server-checks.ts';
import { baseUrlOf } from './server-url.ts';
import {
  checkedToolsetOptions,
  isChosen,
  type OpenAPIToolsetOptions,
  type OperationView,
} from './toolset-options.ts';

const LONGEST_DESCRIPTION = 1_024;

/** Things of the chosen operations that options name. */
interface Seen {
  /** Variables of their servers. */
  variables: Set<string>;
  /** Whether any of them has security. */
  isSecured: boolean;
}

/**
 * The operations of an OpenAPI document as tools. The document is loaded once, when it is first asked for; {@link OpenAPIToolset.load}
 * does that earlier. Semantics: `OpenAPIToolset` of `@google/adk` 2.0.0; options of ours are beside those.
 *
 * @throws DefinitionError from the constructor, naming the option.
 * @example
 * new OpenAPIToolset({
 *   specUrl: new URL('./pets.yaml', import.meta.url),
 *   include: { tags: ['pets'] },
 *   credentials: { petKey: { env: 'PETS_API_KEY' } },
 *   requireConfirmation: 'writes',
 * });
 */
export class OpenAPIToolset extends BaseToolset {
  readonly #options: OpenAPIToolsetOptions;
  readonly #source: DocumentSource;
  #loading: Promise<readonly RestApiTool[]> | undefined;
  #isTold = false;

  constructor(options: OpenAPIToolsetOptions = {}) {
    const owner = new.target.name || 'OpenAPIToolset';
    const source = checkedToolsetOptions(owner, options);
    super(options.toolFilter, options.prefix, defined({ optional: options.optional }));
    this.#options = options;
    this.#source = source;
  }

  override get name(): string {
    return this.#options.name ?? super.name;
  }

  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = await this.#tools();
    return context === undefined ? [...tools] : tools.filter((tool) => this.isToolSelected(tool, context));
  }

  /**
   * Loads the document and makes its tools, so that their mistakes are told before a turn needs them.
   *
   * @throws DefinitionError naming the operation, or saying why the document is none.
   * @throws HOLDFAST_FETCH_FAILED where its server gives none.
   */
  async load(): Promise<void> {
    await this.#tools();
  }

  override async knownTools(): Promise<BaseTool[]> {
    return await this.getTools();
  }

  override async close(): Promise<void> {
    this.#loading = undefined;
  }

  async #tools(): Promise<readonly RestApiTool[]> {
    this.#loading ??= this.#load();
    return await this.#loading;
  }

  #load(): Promise<readonly RestApiTool[]> {
    const loading = this.#made();
    loading.catch(() => {
      const forget = setTimeout(() => {
        if (this.#loading === loading) this.#loading = undefined;
      }, FAILURE_LASTS);
      forget.unref();
    });
    return loading;
  }

  async #made(): Promise<readonly RestApiTool[]> {
    const owner = this.name;
    let document: LoadedDocument;
    try {
      document = await loadDocument(this.#source);
    } catch (error) {
      const field = sourceField(this.#options);
      if (hasCode(error, 'HOLDFAST_FETCH_FAILED')) {
        // Its server may be there again for the next attempt.
        const text = `${owner}: ${field}: ${error.message}`;
        throw new HoldfastError('HOLDFAST_FETCH_FAILED', text, { cause: error });
      }
      if (!(error instanceof DocumentProblem) && !hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) throw error;
      const advice =
        'url' in this.#source && hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')
          ? allowAdvice(this.#source.url, this.#source.allow)
          : '';
      throw new DefinitionError(
        { owner, field, problem: `${thrownMessage(error)}${advice}` },
        { cause: error },
      );
    }
    const operations = this.#chosen(document);
    this.#assertSchemes(document);
    const seen: Seen = { variables: new Set(), isSecured: false };
    const tools = await inSlices(this.#toolsOf(document, operations, seen));
    this.#compareWith(seen);
    return tools;
  }

  *#toolsOf(
    document: LoadedDocument,
    operations: readonly [string, LoadedOperation][],
    seen: Seen,
  ): Generator<undefined, RestApiTool[]> {
    const tools: RestApiTool[] = [];
    for (const [name, operation] of operations) {
      tools.push(this.#tool(document, name, operation, seen));
      yield;
    }
    return tools;
  }

  /** A mistyped name would send a request without its credential. */
  #assertSchemes({ securitySchemes }: LoadedDocument): void {
    const known = Object.keys(securitySchemes);
    for (const name of Object.keys(this.#options.credentials ?? {})) {
      if (known.includes(name)) continue;
      const listed = known.slice(0, 10).map(quoted).join(', ');
      const problem =
        listed === ''
          ? 'the document defines no security schemes: give the scheme as authScheme, and its credential as authCredential'
          : `the document has no such security scheme, only ${listed}${didYouMean(name, known)}`;
      throw new DefinitionError({ owner: this.name, field: `credentials.${name}`, problem });
    }
  }

  /** Options that no operation has read. */
  #compareWith({ variables, isSecured }: Seen): void {
    const { authCredential, authScheme, credentials = {}, serverVariables = {} } = this.#options;
    for (const name of Object.keys(serverVariables)) {
      if (variables.has(name)) continue;
      throw new DefinitionError({
        owner: this.name,
        field: `serverVariables.${name}`,
        problem: `no server of its operations has {${name}}${didYouMean(name, [...variables])}`,
      });
    }
    const isGiven = authCredential !== undefined || Object.keys(credentials).length > 0;
    if (!isGiven || isSecured || authScheme !== undefined || this.#isTold) return;
    this.#isTold = true;
    getLogger().warn(
      `${this.name}: credentials are given, and sent with no operation: none that is chosen has security. ` +
        'Give the scheme as authScheme, and its credential as authCredential.',
    );
  }

  #chosen({ operations }: LoadedDocument): [string, LoadedOperation][] {
    const { prefix, toolFilter } = this;
    const { include, exclude, maxOperations = 128 } = this.#options;
    const names = uniqueNames(operations, prefix);
    const all = operations.map((operation, index) => [names[index], operation] as [string, LoadedOperation]);
    assertNamesExist(this.name, all, this.#options, toolFilter);
    const chosen = all.filter(([name, operation]) => {
      const view = viewOf(name, operation);
      if (include !== undefined && !isChosen(view, include)) return false;
      if (exclude !== undefined && isChosen(view, exclude)) return false;
      return typeof toolFilter === 'function' || toolFilter.length === 0 || toolFilter.includes(name);
    });
    if (chosen.length > maxOperations) {
      const tags = [...new Set(all.flatMap(([, { tags }]) => tags))].slice(0, 20).map(quoted).join(', ');
      throw new DefinitionError({
        owner: this.name,
        field: 'include',
        problem:
          `${chosen.length} operations are chosen, and each request to a model would have all of them: choose some by include ` +
          `(tags: ${tags || 'none'}), or set maxOperations, which is ${maxOperations}`,
      });
    }
    if (chosen.length === 0)
      throw new DefinitionError({ owner: this.name, field: 'include', problem: 'no operation is chosen' });
    return chosen;
  }

  #tool(document: LoadedDocument, name: string, operation: LoadedOperation, seen: Seen): RestApiTool {
    const { method, path, operationId, problem } = operation;
    const owner = `${this.name}: operation ${quoted(operationId ?? `${method} ${path}`)}`;
    const wayOut = `; leave it out by exclude: { operations: [${quoted(name)}] }`;
    if (problem !== undefined) throw new DefinitionError({ owner, problem: `${problem}${wayOut}` });
    const read = operation.operation();
    const baseUrl = this.#baseUrl(owner, read, seen);
    if ((read.security ?? []).some((requirement) => Object.keys(requirement).length > 0))
      seen.isSecured = true;
    const options = this.#optionsOf(name, operation);
    try {
      const tool = new RestApiTool(
        name,
        descriptionOf(read, operation),
        { baseUrl, path, method },
        read,
        this.#options.authScheme,
        this.#options.authCredential as AuthCredential | undefined,
        withOperation(options, {
          definitions: document.definitions,
          security: this.#security(document, read, baseUrl),
        }),
      );
      // A server that refuses all requests, and a wrong schema, are told now, not in a turn.
      const refusal = refusalOf(baseUrl, options.allow);
      if (refusal !== undefined)
        throw new DefinitionError({ owner, field: 'endpoint.baseUrl', problem: refusal });
      tool._getDeclaration();
      return tool;
    } catch (error) {
      if (error instanceof DocumentProblem)
        throw new DefinitionError({ owner, problem: `${error.message}${wayOut}` }, { cause: error });
      if (error instanceof RangeError) {
        throw new DefinitionError({ owner, problem: `it is nested too deeply${wayOut}` }, { cause: error });
      }
      if (error instanceof DefinitionError) {
        const advice = error.cause instanceof DocumentProblem ? wayOut : '';
        throw new DefinitionError(
          { owner, ...defined({ field: error.field }), problem: `${error.problem}${advice}` },
          { cause: error },
        );
      }
      throw error;
    }
  }

  #baseUrl(owner: string, { servers = [] }: OperationObject, { variables }: Seen): string {
    const { server } = this.#options;
    const urls = [...(servers as ServerObject[]).map(({ url }) => url), String(server ?? '')];
    for (const url of urls) for (const [, name = ''] of url.matchAll(/\{([^{}]+)\}/g)) variables.add(name);
    try {
      return baseUrlOf(servers as ServerObject[], this.#options);
    } catch (error) {
      if (!(error instanceof DocumentProblem)) throw error;
      throw new DefinitionError({ owner, problem: error.message }, { cause: error });
    }
  }

  #optionsOf(name: string, operation: LoadedOperation): RestApiToolOptions {
    const { toolOptions = {}, options, requireConfirmation, approval } = this.#options;
    const { preservePropertyNames, headerProvider, credentialKey, allow } = this.#options;
    const view = viewOf(name, operation);
    const own = typeof options === 'function' ? options(view) : ownOptions(options, view);
    const asks = requireConfirmation === 'writes' ? !isSafeMethod(operation.method) : requireConfirmation;
    return {
      ...defined({ preservePropertyNames, headerProvider, credentialKey, allow }),
      ...toolOptions,
      ...(asks === undefined || asks === false
        ? {}
        : { requireConfirmation: asks, ...defined({ approval }) }),
      ...own,
    };
  }

  #security(
    { securitySchemes, title }: LoadedDocument,
    { security = [] }: OperationObject,
    baseUrl: string,
  ): OperationSecurity {
    const { credentials = {}, askForCredentials = true, credentialKey, authCredential } = this.#options;
    const given = new Map<string, SchemeCredential>(Object.entries(credentials));
    const schemes = Object.keys(securitySchemes);
    const [only] = schemes;
    // ADK's one credential is that of the one scheme.
    if (authCredential !== undefined && schemes.length === 1 && only !== undefined && !given.has(only))
      given.set(only, authCredential);
    return {
      requirements: security as readonly SecurityRequirement[],
      schemes: securitySchemes,
      credentials: given,
      asks: askForCredentials,
      keyOf: (scheme) => `${credentialKey ?? `openapi:${title.slice(0, 60)}:${baseUrl}`}:${scheme}`,
    };
  }
}

function viewOf(name: string, { method, path, operationId, tags }: LoadedOperation): OperationView {
  return { name, method, path, tags, ...defined({ operationId }) };
}

function ownOptions(
  options: Readonly<Record<string, RestApiToolOptions>> | undefined,
  { name, operationId }: OperationView,
): RestApiToolOptions {
  if (options === undefined) return {};
  if (operationId !== undefined && Object.hasOwn(options, operationId)) return options[operationId] ?? {};
  return Object.hasOwn(options, name) ? (options[name] ?? {}) : {};
}

/** A mistyped name would leave a tool out, or without its approval. */
function assertNamesExist(
  owner: string,
  all: readonly [string, LoadedOperation][],
  { options, include, exclude }: OpenAPIToolsetOptions,
  toolFilter: BaseToolset['toolFilter'],
): void {
  const names = new Set(all.map(([name]) => name));
  const known = new Set(
    all.flatMap(([name, { operationId }]) => (operationId === undefined ? [name] : [name, operationId])),
  );
  const assertAll = (field: string, given: readonly string[], among: ReadonlySet<string>, what: string) => {
    for (const name of given) {
      if (among.has(name)) continue;
      throw new DefinitionError({
        owner,
        field,
        problem: `no ${what} ${quoted(name)}${didYouMean(name, [...among])}`,
      });
    }
  };
  if (isRecord(options)) assertAll('options', Object.keys(options), known, 'operation');
  if (typeof toolFilter !== 'function') assertAll('toolFilter', toolFilter, names, 'tool');
  const tags = new Set(all.flatMap(([, each]) => each.tags));
  for (const [field, filter] of Object.entries({ include, exclude })) {
    assertAll(`${field}.operations`, filter?.operations ?? [], known, 'operation');
    assertAll(`${field}.tags`, filter?.tags ?? [], tags, 'tag');
  }
}

function descriptionOf({ description, summary }: OperationObject, { method, path }: LoadedOperation): string {
  const text = (description || summary || `${method.toUpperCase()} ${path}`).trim();
  return text.length <= LONGEST_DESCRIPTION
    ? text
    : `${text.slice(0, LONGEST_DESCRIPTION - 1).toWellFormed()}…`;
}

function sourceField({ specDict, specStr }: OpenAPIToolsetOptions): string {
  if (specDict !== undefined) return 'specDict';
  return specStr === undefined ? 'specUrl' : 'specStr';
}
