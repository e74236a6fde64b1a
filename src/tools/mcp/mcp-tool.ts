import type { FunctionDeclaration } from '../../events/content.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { compileObjectSchema, compileSchema } from '../../schema/compile-schema.ts';
import type { CompiledSchema } from '../../schema/compiled-schema.ts';
import { BaseTool, type BaseToolParams, type RunAsyncToolRequest } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { InvalidArgumentsError } from '../tool-error.ts';
import { keptFromRunning } from '../tool-gate.ts';
import type { ConfirmationProvider } from '../with-confirmation.ts';
import { headersOfCredential } from './connection-params.ts';
import type { McpAnswer, McpCall, McpProgress, McpToolDefinition } from './mcp-connection.ts';
import { McpRefused } from './mcp-errors.ts';
import { answersOf, askedIn, type McpQuestions } from './mcp-questions.ts';
import { resultOf } from './mcp-result.ts';
import type { MCPSessionManager } from './mcp-session-manager.ts';

/** Options of a tool of a server, as of any other tool. Its name and its parameters are the server's. */
export type McpToolOptions = Omit<
  BaseToolParams,
  'name' | 'description' | 'requireConfirmation' | 'isLongRunning' | 'poll' | 'inProcess' | 'execution'
> & {
  /**
   * Whether calls wait for a person's approval: all of them, or those for which a function of the server's name of the tool and the
   * arguments says so. Semantics: `ConfirmationProvider` of adk-go's mcptoolset.
   *
   * @default false
   */
  requireConfirmation?: boolean | ConfirmationProvider;
};

/** Characters of a server's description that a model is told. */
const LONGEST_DESCRIPTION = 4_000;
/** Rounds of questions of one call. */
const MOST_ROUNDS = 20;

/**
 * A tool of an MCP server. A call is one request to the server. Where the server asks something first (`input_required`), the call waits
 * for a person, and any worker goes on with it. Semantics: `MCPTool` of `@google/adk` 2.0.0; results are those of adk-go.
 *
 * @throws DefinitionError from the constructor for a schema that can't be used.
 */
export class MCPTool extends BaseTool {
  /** The server's own name of the tool. */
  readonly originalName: string;
  readonly #definition: McpToolDefinition;
  readonly #sessions: MCPSessionManager;
  readonly #parameters: CompiledSchema;
  readonly #output: CompiledSchema | undefined;
  readonly #digest: string;

  constructor(
    mcpTool: McpToolDefinition,
    mcpSessionManager: MCPSessionManager,
    originalName: string = mcpTool.name,
    { requireConfirmation, ...options }: McpToolOptions = {},
  ) {
    const { name, title, description = title ?? '', inputSchema, outputSchema } = mcpTool;
    super({
      // Nobody knows what a second run would do.
      idempotent: false,
      ...options,
      name,
      description: visibleLines(description.slice(0, LONGEST_DESCRIPTION).toWellFormed()),
      ...(typeof requireConfirmation === 'function'
        ? { requireConfirmation: (args, context) => requireConfirmation(originalName, args, context) }
        : defined({ requireConfirmation })),
    });
    this.originalName = originalName;
    this.#definition = { ...mcpTool, name: originalName };
    this.#sessions = mcpSessionManager;
    const owner = `MCPTool "${name}"`;
    this.#parameters = compileObjectSchema(inputSchema, {
      ...{ owner, field: 'inputSchema', side: 'input', isOutside: true },
    });
    if (outputSchema !== undefined) {
      this.#output = compileSchema(outputSchema, {
        ...{ owner, field: 'outputSchema', side: 'output', isOutside: true },
      });
    }
    this.#digest = digestOf(this.#definition);
  }

  /** As the server describes it. Name: `raw_mcp_tool` of adk-python. */
  get rawMcpTool(): Readonly<McpToolDefinition> {
    return this.#definition;
  }

  /** An approval is for the tool that its server described then. */
  override get definitionDigest(): string {
    return this.#digest;
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#parameters.jsonSchema,
      ...(this.#output === undefined
        ? {}
        : {
            responseJsonSchema: {
              type: 'object',
              properties: { output: this.#output.jsonSchema },
              required: ['output'],
            },
          }),
    };
  }

  /** Models send null for a parameter that they leave out: where the schema takes no null, it counts as left out. */
  override async readArguments(args: Record<string, unknown>): Promise<Record<string, unknown>> {
    const { validate } = this.#parameters;
    let validation = await validate(args);
    if (!validation.ok && Object.values(args).includes(null)) {
      const given = Object.entries(args).filter(([, value]) => value !== null);
      validation = await validate(Object.fromEntries(given));
    }
    if (validation.ok && isRecord(validation.value)) return validation.value;
    const problem = validation.ok ? 'expected object' : validation.message;
    throw new InvalidArgumentsError(`Error in tool '${this.name}': invalid arguments: ${problem}`);
  }

  /**
   * Calls the server's tool.
   *
   * @returns `{ output }`, the structured content or the text, with media beside it.
   * @throws InvalidArgumentsError
   * @throws McpRefused with the text of a result that says `isError`, and for a request that the server refuses.
   * @throws McpUnavailable where the server can't be reached. It is tried again only where the call can't have run, or is idempotent.
   */
  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    const { toolContext } = request;
    const args = await this.readArguments(request.args);
    const kept = await keptFromRunning(this, request);
    if (kept !== undefined) return kept;
    let answers: McpCall['answers'];
    for (let round = 1; ; round += 1) {
      const given = answers;
      const result = await this.#asked(toolContext, `mcp/${round}`, () => this.#called(request, args, given));
      const questions = askedIn(result);
      if (questions === undefined) return await resultOf(this.name, result, this.#output);
      if (round === MOST_ROUNDS) {
        throw new McpRefused(`the MCP server asks for a call of ${this.name} more than ${MOST_ROUNDS} times`);
      }
      answers = await answersOf(questions, toolContext, this.name);
    }
  }

  async #called(
    { toolContext, onChunk }: RunAsyncToolRequest,
    args: Record<string, unknown>,
    answers: McpCall['answers'],
  ): Promise<McpAnswer> {
    const { credential, abortSignal } = toolContext;
    const isCall = toolContext.functionCallId !== undefined;
    const tell = ({ progress, total, message }: McpProgress) => {
      const text = message && visibleLines(message.slice(0, LONGEST_DESCRIPTION).toWellFormed());
      toolContext.heartbeat({ progress, ...defined({ total, message: text }) });
      if (text) onChunk?.({ content: `${text}\n`, streaming: true });
    };
    const headers =
      credential === undefined
        ? {}
        : headersOfCredential(credential, this.gate?.authConfig?.authScheme ?? {});
    const call: McpCall = {
      tool: this.#definition,
      args,
      ...defined({ answers }),
      idempotencyKey: isCall ? toolContext.idempotencyKey : undefined,
      isIdempotent: this.durable.idempotent,
      signal: abortSignal,
      timeout: this.durable.timeout,
      onProgress: tell,
    };
    return await this.#sessions.use(toolContext, (connection) => connection.call(call), headers);
  }

  /** The questions of a round are recorded, so that they are asked once, and any worker goes on with their answers. */
  async #asked(
    context: Context,
    key: string,
    call: () => Promise<McpAnswer>,
  ): Promise<McpAnswer | McpQuestions> {
    if (context.functionCallId === undefined) return await call();
    let over: McpAnswer | undefined;
    try {
      return await context.once(key, async () => {
        const answer = await call();
        const questions = askedIn(answer);
        if (questions !== undefined) return questions;
        over = answer;
        throw NOTHING_ASKED;
      });
    } catch (error) {
      if (error === NOTHING_ASKED && over !== undefined) return over;
      throw error;
    }
  }
}

/** Thrown where a round is not to be recorded: its answer asks nothing. */
const NOTHING_ASKED = Symbol('nothing asked');
