import { getLogger } from '../../logger.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { shortDigest } from '../../protocol/identity.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { assertInstalled } from '../../schema/installed-package.ts';
import { kindOf } from '../../schema/kind-of.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../../schema/options.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import type { BaseTool } from '../base-tool.ts';
import { BaseToolset, FAILURE_LASTS, passes, type ToolPredicate } from '../base-toolset.ts';
import type { Context } from '../context.ts';
import { FunctionTool } from '../function-tool.ts';
import { inSlices } from '../in-slices.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import { isToolName } from '../tool-name.ts';
import {
  assertStartable,
  checkedConnectionParams,
  type MCPConnectionParams,
  shownServer,
} from './connection-params.ts';
import { type MCPAuthOptions, McpAuth, withCredential, withCredentialOfCall } from './mcp-auth.ts';
import type { MCPConnection, McpResource, McpResourceContents, McpToolDefinition } from './mcp-connection.ts';
import { challengeOf, McpRefused, McpUnavailable } from './mcp-errors.ts';
import { MCPSessionManager, type MCPSessionOptions } from './mcp-session-manager.ts';
import { MCPTool, type McpToolOptions } from './mcp-tool.ts';

/** Options of {@link MCPToolset}, beside its server, its filter and its prefix. */
export interface MCPToolsetOptions extends MCPSessionOptions {
  /**
   * For messages.
   *
   * @default 'MCPToolset'
   */
  name?: string;
  /** Options of all tools: timeouts, retries, approvals, `sensitive`, `spool`, … */
  defaults?: McpToolOptions;
  /** Options of single tools, by the server's names. They go before `defaults` and hints. */
  tools?: Readonly<Record<string, McpToolOptions>>;
  /**
   * Whether the agent goes on without the tools while the server is away. That is logged once, and the server is asked again after 10
   * seconds at the earliest.
   *
   * @default false
   */
  optional?: boolean;
  /**
   * Tokens of OAuth for a server over HTTP, from where the server says (`true`) or the app. Calls ask for them. While the user has none, a
   * tool `connect_<name>` stands in place of tools that the server doesn't list.
   */
  auth?: true | MCPAuthOptions;
  /**
   * Whether hints of the server about its tools may loosen a policy: with `readOnlyHint` a tool only reads, with `idempotentHint` a second
   * run does no more than the first. Without it hints can only tighten one: they come from outside.
   *
   * @default false
   */
  trustAnnotations?: boolean;
}

const MCP_TOOLSET = {
  name: option.text(),
  defaults: option.own(isRecord, 'an object'),
  tools: option.own(isRecord, 'an object'),
  optional: option.flag(),
  trustAnnotations: option.flag(),
  auth: option.own((auth) => auth === true || isRecord(auth), 'true, or an object'),
  principal: option.callback('a function of the context'),
  headers: option.callback('a function of the context'),
  maxConnections: option.count(),
  idleTimeout: option.count(),
  elicitationTimeout: option.number(0),
  maxResponseBytes: option.count(),
} satisfies OptionsFor<MCPToolsetOptions>;

/** By which options of tools are checked before a server is asked. */
const ANY_TOOL: McpToolDefinition = { name: 'any_tool', inputSchema: { type: 'object' } };
/** Characters of a name that models take. */
const LONGEST_NAME = 64;
/** Characters of a server's name of a tool in a warning. */
const LONGEST_SHOWN = 100;
/** Characters of schemas of one list that are compiled, beside those of tools that the filter names. */
const MOST_SCHEMAS = 2 * 1024 * 1024;
/** Characters of the schemas of tools that are kept, of the newest lists: principals may be told different ones. */
const MOST_KEPT = 2 * MOST_SCHEMAS;

/**
 * The tools of an MCP server, over standard input and output or Streamable HTTP. Connected when needed; one connection for each principal
 * and worker. Lists are kept until the server tells of a change. Constructor: `MCPToolset` of `@google/adk` 2.0.0; `options` are ours.
 *
 * @throws DefinitionError from the constructor: the error names the option, or the package to install.
 * @example
 * const files = new MCPToolset({
 *   type: 'StdioConnectionParams',
 *   serverParams: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/docs'] },
 * }, ['read_text_file', 'list_directory']);
 */
export class MCPToolset extends BaseToolset {
  readonly #options: MCPToolsetOptions;
  readonly #params: MCPConnectionParams;
  readonly #sessions: MCPSessionManager;
  readonly #server: string;
  readonly #auth: McpAuth | undefined;
  /** Tools of lists, by their digests; the newest last. */
  readonly #made = new Map<string, MadeTool>();
  /** Each step and each call asks for the tools; a connection tells the same list until it asks its server again. */
  readonly #ofList = new WeakMap<readonly McpToolDefinition[], Promise<readonly MCPTool[]>>();
  /** Names whose tools are missing. */
  readonly #missing = new Set<string>();
  /** Why a principal has no list for now. */
  readonly #failures = new Map<string, McpUnavailable>();

  constructor(
    connectionParams: MCPConnectionParams,
    toolFilter: ToolPredicate | readonly string[] = [],
    prefix?: string,
    options: MCPToolsetOptions = {},
  ) {
    super(toolFilter, prefix, { optional: options?.optional === true });
    const owner = new.target.name || 'MCPToolset';
    assertInstalled(owner, '@modelcontextprotocol/client');
    const params = checkedConnectionParams(owner, connectionParams);
    readGroup(MCP_TOOLSET, { owner, options, field: 'options' });
    this.#options = options;
    this.#params = params;
    this.#server = shownServer(params);
    this.#sessions = new MCPSessionManager(params, options);
    this.#auth = options.auth && new McpAuth(owner, params, options.auth);
    this.#checkToolOptions(owner);
  }

  override get name(): string {
    return this.#options.name ?? super.name;
  }

  override async knownTools(): Promise<BaseTool[]> {
    assertStartable(this.constructor.name || 'MCPToolset', this.#params);
    return [];
  }

  /** @throws McpUnavailable, McpRefused, OAuthFailed */
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const auth = this.#auth;
    let listed: readonly McpToolDefinition[];
    try {
      listed = await this.#listed(context);
    } catch (error) {
      const status = challengeOf(error)?.status;
      if (auth === undefined || status === undefined) throw error;
      // No person mends it that the server refuses tokens which are good.
      if (status === 401 && (await auth.tokens(context)) !== undefined) throw error;
      return [this.#connectTool(auth, true)];
    }
    const making = this.#ofList.get(listed) ?? inSlices(this.#toolsOf(listed));
    this.#ofList.set(listed, making);
    const made = await making;
    const tools = context === undefined ? made : made.filter((tool) => this.isToolSelected(tool, context));
    if (auth === undefined) return [...tools];
    // The call that has waited for the person's consent finds its tool, which no model is told of any more.
    return [this.#connectTool(auth, false), ...tools];
  }

  /**
   * Resources of the server. ADK answers with their names, which need not be unique.
   *
   * @throws McpUnavailable, McpRefused
   */
  async listResources(context?: ReadonlyContext): Promise<readonly McpResource[]> {
    return await this.#use(context, (connection) => connection.resources());
  }

  /**
   * @param name of a resource, or its URI.
   * @throws McpRefused where the server has no such resource.
   */
  async getResourceInfo(name: string, context?: ReadonlyContext): Promise<McpResource> {
    const resources = await this.listResources(context);
    const found =
      resources.find(({ uri }) => uri === name) ?? resources.find((resource) => resource.name === name);
    if (found !== undefined) return found;
    throw new McpRefused(`the MCP server ${this.#server} has no resource ${JSON.stringify(name)}`);
  }

  /**
   * Reads a resource: texts, and bytes in base64.
   *
   * @param name of a resource, or its URI.
   * @throws McpUnavailable, McpRefused
   */
  async readResource(name: string, context?: ReadonlyContext): Promise<readonly McpResourceContents[]> {
    const { uri } = await this.getResourceInfo(name, context);
    return await this.#use(context, (connection) => connection.readResource(uri));
  }

  override async close(): Promise<void> {
    await this.#sessions.close();
    this.#failures.clear();
  }

  /** Names of a filter are the server's, without the prefix. */
  protected override isToolSelected(tool: BaseTool, context: ReadonlyContext): boolean {
    const { toolFilter } = this;
    if (typeof toolFilter === 'function') return passes(toolFilter, tool, context);
    return toolFilter.length === 0 || (tool instanceof MCPTool && toolFilter.includes(tool.originalName));
  }

  /** With the user's tokens, and once more with renewed ones. If none do, it is found out where people consent. */
  async #use<T>(
    context: ReadonlyContext | undefined,
    work: (connection: MCPConnection) => Promise<T>,
  ): Promise<T> {
    const auth = this.#auth;
    if (auth === undefined) return await this.#sessions.use(context, work);
    const tokens = await auth.tokens(context);
    const use = (credential: Record<string, string>) => this.#sessions.use(context, work, { credential });
    try {
      const done = await withCredential(tokens, use, async ({ status }) =>
        status === 401 && tokens ? await auth.tokens(context, tokens.oauth2?.accessToken) : undefined,
      );
      if (tokens === undefined) await auth.findProvider(context);
      return done;
    } catch (error) {
      const challenge = challengeOf(error);
      if (challenge?.status === 401) await auth.findProvider(context, challenge);
      throw error;
    }
  }

  /** A tool by which a model has the user asked for consent. Models are told of it while there are no other ones. */
  #connectTool({ authConfig }: McpAuth, isTold: boolean): BaseTool {
    const { host, pathname } = new URL(this.#server);
    const named = this.prefix ?? this.#options.name ?? `${host}${pathname}`;
    const tool = new FunctionTool({
      name: nameFor(`connect_${named.replace(/\W/g, '_')}`),
      description: `Connects ${named} for the user. Call it when the user wants what ${named} does: its tools are there afterwards.`,
      authConfig,
      execute: async (_args, context) => {
        await withCredentialOfCall(tool, context as Context, (credential) =>
          this.#sessions.use(context, (connection) => connection.tools(), { credential }),
        );
        return `${named} is connected: its tools are there from now on.`;
      },
    });
    return isTold ? tool : Object.assign(tool, { _getDeclaration: () => undefined });
  }

  /** A server that hangs would cost an agent that can do without it the `timeout` at each step and each call. */
  async #listed(context: ReadonlyContext | undefined): Promise<readonly McpToolDefinition[]> {
    const principal = this.#sessions.principalOf(context);
    const failure = this.#failures.get(principal);
    if (failure !== undefined) throw failure;
    try {
      return await this.#use(context, (connection) => connection.tools());
    } catch (error) {
      if (this.optional && error instanceof McpUnavailable) {
        this.#failures.set(principal, error);
        setTimeout(() => this.#failures.delete(principal), FAILURE_LASTS).unref();
      }
      throw error;
    }
  }

  /** Pauses at each tool: a server may list a thousand, and turns of others go on meanwhile. */
  *#toolsOf(listed: readonly McpToolDefinition[]): Generator<undefined, MCPTool[]> {
    const tools: MCPTool[] = [];
    const taken = new Set<string>();
    const isNamed = (tool: string) => typeof this.toolFilter !== 'function' && this.toolFilter.includes(tool);
    const leftOut: string[] = [];
    let size = 0;
    for (const definition of listed) {
      const name = nameFor(definition.name, this.prefix);
      if (taken.has(name)) continue;
      taken.add(name);
      const digest = digestOf([name, definition]);
      const { inputSchema, outputSchema } = definition;
      const own = JSON.stringify([inputSchema, outputSchema]).length;
      size += own;
      if (size > MOST_SCHEMAS && !isNamed(definition.name)) {
        leftOut.push(definition.name);
        continue;
      }
      const made = this.#made.get(digest) ?? { tool: this.#newTool(name, definition), size: own };
      this.#made.delete(digest);
      this.#made.set(digest, made);
      if (made.tool !== undefined) tools.push(made.tool);
      yield;
    }
    const [first] = leftOut;
    if (first !== undefined) {
      const problem = `the server's schemas have more than ${MOST_SCHEMAS} characters`;
      this.#warn(
        first,
        `${problem}, and ${leftOut.length} tools are too many: name those you need in the filter`,
      );
    }
    this.#forgetOldest();
    this.#warnOfMissing(listed);
    return tools;
  }

  #forgetOldest(): void {
    let kept = [...this.#made.values()].reduce((sum, { size }) => sum + size, 0);
    for (const [digest, { size }] of this.#made) {
      if (kept <= MOST_KEPT) return;
      this.#made.delete(digest);
      kept -= size;
    }
  }

  /** Options and filters name tools that a server may not have, or not any more. Told once. */
  #warnOfMissing(listed: readonly McpToolDefinition[]): void {
    const names = [
      ...(typeof this.toolFilter === 'function' ? [] : this.toolFilter),
      ...Object.keys(this.#options.tools ?? {}),
    ];
    const missing = names.filter(
      (name) => !this.#missing.has(name) && !listed.some((tool) => tool.name === name),
    );
    for (const name of missing) {
      this.#missing.add(name);
      getLogger().warn(
        `${this.name}: the MCP server ${this.#server} has no tool ${JSON.stringify(name)}: check the filter and the options of tools`,
      );
    }
  }

  /** Undefined for a tool that can't be used: the others can. */
  #newTool(name: string, definition: McpToolDefinition): MCPTool | undefined {
    try {
      return new MCPTool(
        { ...definition, name },
        this.#sessions,
        definition.name,
        this.#optionsOf(definition),
      );
    } catch (error) {
      this.#warn(definition.name, thrownMessage(error));
      return undefined;
    }
  }

  #warn(tool: string, why: string): void {
    const shown = JSON.stringify(visibleExcerpt(tool, LONGEST_SHOWN));
    getLogger().warn(`the tool ${shown} of the MCP server ${this.#server} is left out: ${why}`);
  }

  /** A wrong option would leave the server's tools out, and be told only once they are listed. */
  #checkToolOptions(owner: string): void {
    const { defaults = {}, tools = {} } = this.#options;
    const ofTools = Object.entries(tools).map(([name, own]) => [`options.tools.${name}`, own] as const);
    for (const [field, own] of [['options.defaults', {}] as const, ...ofTools]) {
      if (own !== undefined && !isRecord(own))
        throw new DefinitionError({ owner, field, problem: `expected an object, got ${kindOf(own)}` });
      try {
        new MCPTool(ANY_TOOL, this.#sessions, ANY_TOOL.name, { ...defaults, ...own });
      } catch (error) {
        if (!(error instanceof DefinitionError)) throw error;
        const { field: option, problem } = error;
        const named = option === undefined ? field : `${field}.${option}`;
        throw new DefinitionError({ owner, field: named, problem }, { cause: error });
      }
    }
  }

  #optionsOf({ name, annotations = {} }: McpToolDefinition): McpToolOptions {
    const { defaults = {}, tools = {}, trustAnnotations = false } = this.#options;
    const { readOnlyHint, destructiveHint, idempotentHint } = annotations;
    const changes = !readOnlyHint && (readOnlyHint === false || destructiveHint === true);
    const tighter = {
      ...(changes ? { isReadOnly: false } : {}),
      ...(idempotentHint === false && !readOnlyHint ? { idempotent: false } : {}),
    };
    const looser = {
      ...(readOnlyHint ? { isReadOnly: true, idempotent: true } : {}),
      ...(idempotentHint ? { idempotent: true } : {}),
    };
    const own = Object.hasOwn(tools, name) ? tools[name] : {};
    const gate = defined({ authConfig: this.#auth?.authConfig });
    return { ...gate, ...(trustAnnotations ? looser : {}), ...defaults, ...tighter, ...own };
  }
}

interface MadeTool {
  /** Undefined for one that can't be used. */
  tool: MCPTool | undefined;
  /** Characters of its schemas. */
  size: number;
}

/** A name that models take, of which a call of the server's own name is made. */
function nameFor(original: string, prefix = ''): string {
  const whole = prefix === '' ? original : `${prefix}_${original}`;
  if (whole.length <= LONGEST_NAME && isToolName(whole)) return whole;
  const clean = whole.toWellFormed().replace(/[^A-Za-z0-9_.:-]/g, '_');
  const cut = `${clean.slice(0, LONGEST_NAME - 10)}_${shortDigest(whole).slice(0, 8)}`;
  return isToolName(cut) ? cut : `_${cut}`;
}
