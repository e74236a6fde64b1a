import { setTimeout } from 'node:timers/promises';
import type { FunctionDeclaration } from '../../events/content.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { compileObjectSchema, compileSchema } from '../../schema/compile-schema.ts';
import type { CompiledSchema } from '../../schema/compiled-schema.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { shownSchema } from '../../schema/outside-schema.ts';
import { BaseTool, type BaseToolParams, type RunAsyncToolRequest } from '../base-tool.ts';
import { NoJobError } from '../call-job.ts';
import type { Context } from '../context.ts';
import { NoCallError } from '../context-params.ts';
import { type JobView, RUN_AGAIN } from '../job-options.ts';
import { outsideArguments } from '../tool-error.ts';
import { keptFromRunning } from '../tool-gate.ts';
import type { ConfirmationProvider } from '../with-confirmation.ts';
import type { McpAnswer, McpTaskReference } from './mcp-answer.ts';
import { withCredentialOfCall } from './mcp-auth.ts';
import type { MCPConnection, McpCall, McpProgress, McpToolDefinition } from './mcp-connection.ts';
import { McpElicitations } from './mcp-elicitations.ts';
import { McpRefused } from './mcp-errors.ts';
import { answersOf, askedIn, type McpQuestions } from './mcp-questions.ts';
import { resultOf } from './mcp-result.ts';
import type { MCPSessionManager, McpUse } from './mcp-session-manager.ts';
import { isOver, type McpTask } from './mcp-task.ts';
import { recorded, recordedBefore, TaskOfCall } from './task-of-call.ts';

/** Fields that an MCP tool sets itself. */
const OWN_FIELDS = [
  'name',
  'description',
  'isLongRunning',
  'poll',
  'cancel',
  'inProcess',
  'pauseOnReturn',
  'execution',
] as const satisfies (keyof BaseToolParams)[];

/** Options of a tool of a server, as of any other tool. Its name and its parameters are the server's. */
export type McpToolOptions = Omit<BaseToolParams, (typeof OWN_FIELDS)[number] | 'requireConfirmation'> & {
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

/**
 * A tool of an MCP server. A call is one request to the server. Where the server asks something first (`input_required`), the call waits
 * for a person, and any worker goes on with it. Where the server makes a task of the call, the task is a job of Holdfast. Semantics:
 * `MCPTool` of `@google/adk` 2.0.0; results are those of adk-go.
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
  readonly #shown: Pick<FunctionDeclaration, 'parametersJsonSchema' | 'responseJsonSchema'>;
  readonly #digest: string;

  constructor(
    mcpTool: McpToolDefinition,
    mcpSessionManager: MCPSessionManager,
    originalName: string = mcpTool.name,
    { requireConfirmation, ...options }: McpToolOptions = {},
  ) {
    const { name, title, description = title ?? '', inputSchema, outputSchema } = mcpTool;
    const owner = `MCPTool "${name}"`;
    assertNotOwn(owner, options);
    super({
      // Nobody knows what a second run would do.
      idempotent: false,
      ...options,
      poll: (job, context) => this.#poll(job, context),
      cancel: (_job, context) => this.#cancel(context),
      name,
      description: visibleLines(description.slice(0, LONGEST_DESCRIPTION).toWellFormed()),
      ...(typeof requireConfirmation === 'function'
        ? { requireConfirmation: (args, context) => requireConfirmation(originalName, args, context) }
        : defined({ requireConfirmation })),
    });
    this.originalName = originalName;
    this.#definition = { ...mcpTool, name: originalName };
    this.#sessions = mcpSessionManager;
    this.#parameters = compileObjectSchema(inputSchema, {
      ...{ owner, field: 'inputSchema', side: 'input', isOutside: true },
    });
    if (outputSchema !== undefined) {
      this.#output = compileSchema(outputSchema, {
        ...{ owner, field: 'outputSchema', side: 'output', isOutside: true },
      });
    }
    const output = this.#output && shownSchema(this.#output.jsonSchema);
    this.#shown = {
      parametersJsonSchema: shownSchema(this.#parameters.jsonSchema),
      ...(output && { responseJsonSchema: { type: 'object', properties: { output }, required: ['output'] } }),
    };
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
    return { name: this.name, description: this.description, ...this.#shown };
  }

  override async readArguments(args: Record<string, unknown>): Promise<Record<string, unknown>> {
    return await outsideArguments(this.name, this.#parameters, args);
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
      const questions = new McpElicitations(toolContext, {
        tool: this.name,
        within: this.#sessions.elicitationTimeout,
      });
      const called = await recorded(
        toolContext,
        callKey(round),
        async () => {
          // A crash from here on leaves an unknown outcome, in spite of earlier records.
          if (given !== undefined && toolContext.functionCallId !== undefined)
            await toolContext.once(sentKey(round), () => true);
          return await this.#called(request, args, { answers: given, questions });
        },
        (answer) => answer.task ?? askedIn(answer, round),
      );
      if ('answer' in called) return await resultOf(this.name, called.answer, this.#output, questions.notice);
      const { kept: asked } = called;
      if (asked.resultType === 'task') return await this.#begun(asked, toolContext);
      answers = await answersOf(asked, toolContext, this.name);
    }
  }

  /** A call that has become a task asks for the task. One whose questions nobody has answered yet asks them. */
  override goesOn(once: Readonly<Record<string, unknown>>): boolean {
    for (let round = 1; ; round += 1) {
      const entry = once[callKey(round)];
      const value = isRecord(entry) ? entry.value : undefined;
      if (!isRecord(value)) return round > 1 && once[sentKey(round)] === undefined;
      if (value.resultType === 'task') return true;
    }
  }

  /** The task is a job from now on, unless it is over. A context without a call has no jobs: there it is waited for. */
  async #begun(reference: McpTaskReference, context: Context): Promise<unknown> {
    const task = this.#taskOf(reference, context);
    const hasJob = canPark(context);
    // Its job is there before people are asked: where its turn ends meanwhile, the server is told.
    if (hasJob) await context.job.progress(0, 'the MCP server works on it as a task');
    const until = performance.now() + this.durable.timeout;
    for (;;) {
      const seen = await task.asked();
      if (isOver(seen)) return await this.#resultOf(seen);
      if (hasJob) {
        context.longRunning = true;
        return undefined;
      }
      if (performance.now() + seen.pollAfter > until) {
        await task.cancel();
        throw new McpRefused(`the task of ${this.name} has taken more than ${this.durable.timeout} ms`);
      }
      await setTimeout(seen.pollAfter, undefined, { signal: context.abortSignal });
    }
  }

  async #poll({ progress }: JobView, context: Context): Promise<unknown> {
    const reference = await taskReference(context);
    if (reference === undefined) throw new McpRefused(`the call of ${this.name} has recorded no task`);
    const seen = await this.#taskOf(reference, context).polled();
    if (seen === RUN_AGAIN) return seen;
    if (isOver(seen)) return await this.#resultOf(seen);
    const { job } = context;
    const { message, pollAfter } = seen;
    job.pollAfter = pollAfter;
    if (message !== undefined && message !== progress?.message)
      await job.progress(progress?.value ?? 0, message);
    return undefined;
  }

  async #cancel(context: Context): Promise<void> {
    const reference = await taskReference(context);
    if (reference !== undefined) await this.#taskOf(reference, context).cancel();
  }

  #taskOf(reference: McpTaskReference, context: Context): TaskOfCall {
    const { session } = reference;
    return new TaskOfCall(reference, {
      context,
      tool: this.name,
      use: (work) => this.#use(context, work, { session }),
    });
  }

  /** @throws McpRefused for a task that has no result. */
  async #resultOf({ status, result, error }: McpTask): Promise<unknown> {
    if (status === 'completed' && result !== undefined)
      return await resultOf(this.name, result, this.#output);
    const why =
      status === 'completed' ? 'it has completed without a result' : `it has ${ENDED[status] ?? status}`;
    throw new McpRefused(
      `the task of ${this.name} has no result: ${why}${error === undefined ? '' : `: ${error}`}`,
    );
  }

  async #use<T>(context: Context, work: (connection: MCPConnection) => Promise<T>, use: McpUse = {}) {
    return await withCredentialOfCall(this, context, (credential) =>
      this.#sessions.use(context, work, { ...use, credential }),
    );
  }

  async #called(
    { toolContext, onChunk }: RunAsyncToolRequest,
    args: Record<string, unknown>,
    { answers, questions }: { answers: McpCall['answers']; questions: McpElicitations },
  ): Promise<McpAnswer> {
    const { abortSignal } = toolContext;
    const isCall = toolContext.functionCallId !== undefined;
    const tell = ({ progress, total, message }: McpProgress) => {
      const text = message && visibleLines(message.slice(0, LONGEST_DESCRIPTION).toWellFormed());
      toolContext.heartbeat({ progress, ...defined({ total, message: text }) });
      if (text) onChunk?.({ content: `${text}\n`, streaming: true });
    };
    const call: McpCall = {
      tool: this.#definition,
      args,
      ...defined({ answers }),
      idempotencyKey: isCall ? toolContext.idempotencyKey : undefined,
      isIdempotent: this.durable.idempotent,
      ttl: this.job.deadline,
      signal: abortSignal,
      timeout: this.durable.timeout,
      onProgress: tell,
      onQuestion: (params, signal) => questions.answer(params, signal),
      onDeclined: (reason) => questions.declined(reason),
    };
    try {
      return await this.#use(toolContext, (connection) => connection.call(call));
    } finally {
      questions.close();
    }
  }
}

/** The type has none of them: they would do nothing, or break the call. */
function assertNotOwn(owner: string, options: Readonly<Record<string, unknown>>): void {
  const field = OWN_FIELDS.find((each) => options[each] !== undefined);
  if (field === undefined) return;
  throw new DefinitionError({ owner, field, problem: 'a tool of an MCP server has its own: leave it out' });
}

const ENDED: Readonly<Record<string, string>> = { failed: 'failed', cancelled: 'been cancelled' };

function callKey(round: number): string {
  return `mcp/${round}`;
}

function sentKey(round: number): string {
  return `${callKey(round)}/sent`;
}

/** The task that the call has become. */
async function taskReference(context: Context): Promise<McpTaskReference | undefined> {
  for (let round = 1; ; round += 1) {
    const kept = await recordedBefore<McpTaskReference | McpQuestions>(context, callKey(round));
    if (kept === undefined) return undefined;
    if (kept.resultType === 'task') return kept;
  }
}

/** Code that the model wrote, and a tool that runs outside of a turn, have no jobs. */
function canPark(context: Context): boolean {
  if (context.functionCallId === undefined) return false;
  try {
    return context.job.id !== '';
  } catch (error) {
    if (error instanceof NoJobError || error instanceof NoCallError) return false;
    throw error;
  }
}
