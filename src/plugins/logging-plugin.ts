import type { Content, GenerateContentConfig, Part } from '@google/genai';
import { isAnySensitive, MASK, type Sensitive, shownArguments } from '../approvals/sensitive.ts';
import { getFunctionCalls, getFunctionResponses, isFinalResponse } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';
import { LINES, neverFailing, type PluginLogger, shownJson } from './plugin-logger.ts';
import { isSensitiveAgent, sensitiveIn, shownResponse } from './withheld.ts';

const LONGEST_TEXT = 200;
const LONGEST_JSON = 300;

export interface LoggingPluginOptions {
  /**
   * Gets the lines: `logger` of a worker, `console`, or anything with `info` and `warn`.
   *
   * @default lines for the logger of `setLogger`, else on standard error
   */
  logger?: PluginLogger;
}

type ToolParams = { tool: BaseTool; toolContext: Context };

/**
 * Writes down what happens, a line for each hook: text cut at 200 characters, arguments and results at 300. Texts of a `sensitive`
 * agent or tool are left out. Semantics: `LoggingPlugin` of `@google/adk` 2.0.0, whose lines stand on several rows.
 *
 * @example new App({ name: 'shop', rootAgent, plugins: [new LoggingPlugin()] });
 */
export class LoggingPlugin extends BasePlugin {
  readonly #logger: PluginLogger;

  constructor(name = 'logging_plugin', { logger = LINES }: LoggingPluginOptions = {}) {
    super(name);
    this.#logger = neverFailing(logger);
  }

  override async onUserMessageCallback({
    invocationContext,
    userMessage,
  }: PluginParams<'onUserMessageCallback'>): Promise<undefined> {
    const { invocationId, session, userId, appName, agent, branch } = invocationContext;
    this.#log('USER MESSAGE RECEIVED', {
      invocationId,
      sessionId: session.id,
      userId,
      appName,
      agent: agent?.name,
      branch,
      content: contentOf(agent, userMessage),
    });
  }

  override async beforeRunCallback({ invocationContext }: PluginParams<'beforeRunCallback'>) {
    const { invocationId, agent } = invocationContext;
    this.#log('INVOCATION STARTING', { invocationId, agent: agent?.name });
    return undefined;
  }

  override async onEventCallback({
    invocationContext: { invocationId, agent },
    event,
  }: PluginParams<'onEventCallback'>): Promise<undefined> {
    const names = (list: { name?: string }[]) =>
      list.length === 0 ? undefined : list.map(({ name }) => name).join(', ');
    this.#log('EVENT YIELDED', {
      invocationId,
      eventId: event.id,
      author: event.author,
      content: contentOf(agent, event.content),
      final: isFinalResponse(event),
      calls: names(getFunctionCalls(event)),
      responses: names(getFunctionResponses(event)),
      longRunning: event.longRunningToolIds?.length ? event.longRunningToolIds.join(', ') : undefined,
      errorCode: event.errorCode,
    });
  }

  override async afterRunCallback({ invocationContext }: PluginParams<'afterRunCallback'>) {
    const { invocationId, agent } = invocationContext;
    this.#log('INVOCATION COMPLETED', { invocationId, agent: agent?.name });
  }

  override async beforeAgentCallback({
    callbackContext,
  }: PluginParams<'beforeAgentCallback'>): Promise<undefined> {
    this.#log('AGENT STARTING', { ...placeOf(callbackContext), branch: callbackContext.branch });
  }

  override async afterAgentCallback({
    callbackContext,
  }: PluginParams<'afterAgentCallback'>): Promise<undefined> {
    this.#log('AGENT COMPLETED', placeOf(callbackContext));
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest: { model, config, toolsDict },
  }: PluginParams<'beforeModelCallback'>): Promise<undefined> {
    const instruction = instructionText(config?.systemInstruction);
    const { agent } = callbackContext.invocationContext;
    this.#log('LLM REQUEST', {
      ...placeOf(callbackContext),
      model: model ?? 'default',
      systemInstruction: isSensitiveAgent(agent) ? MASK : cut(instruction, LONGEST_TEXT),
      tools: Object.keys(toolsDict).join(', '),
    });
  }

  override async afterModelCallback({
    callbackContext,
    llmResponse,
  }: PluginParams<'afterModelCallback'>): Promise<undefined> {
    const { content, errorCode, errorMessage, partial, turnComplete, usageMetadata } = llmResponse;
    const { agent } = callbackContext.invocationContext;
    this.#log('LLM RESPONSE', {
      ...placeOf(callbackContext),
      ...(errorCode === undefined
        ? { content: contentOf(agent, content), partial, turnComplete }
        : { errorCode, errorMessage: isSensitiveAgent(agent) ? MASK : errorMessage }),
      inputTokens: usageMetadata?.promptTokenCount,
      outputTokens: usageMetadata?.candidatesTokenCount,
    });
  }

  override async onModelErrorCallback({
    callbackContext,
    error,
  }: PluginParams<'onModelErrorCallback'>): Promise<undefined> {
    const { agent } = callbackContext.invocationContext;
    this.#warn('LLM ERROR', {
      ...placeOf(callbackContext),
      error: isSensitiveAgent(agent) ? error.name : thrownMessage(error),
    });
  }

  override async beforeToolCallback({
    toolArgs,
    ...call
  }: PluginParams<'beforeToolCallback'>): Promise<undefined> {
    this.#log('TOOL STARTING', { ...callOf(call), args: argumentsOf(call, toolArgs) });
  }

  override async afterToolCallback({
    toolArgs,
    result,
    ...call
  }: PluginParams<'afterToolCallback'>): Promise<undefined> {
    const shown = shownResponse(result, toolArgs, sensitiveOf(call, toolArgs));
    this.#log('TOOL COMPLETED', {
      ...callOf(call),
      result: shown === MASK ? MASK : shortJson(shown),
    });
  }

  override async onToolErrorCallback({
    toolArgs,
    error,
    ...call
  }: PluginParams<'onToolErrorCallback'>): Promise<undefined> {
    this.#warn('TOOL ERROR', {
      ...callOf(call),
      args: argumentsOf(call, toolArgs),
      error: isAnySensitive(sensitiveOf(call, toolArgs)) ? error.name : thrownMessage(error),
    });
  }

  #log(message: string, attributes: Record<string, unknown>): void {
    this.#logger.info(`[${this.name}] ${message}`, defined(attributes));
  }

  #warn(message: string, attributes: Record<string, unknown>): void {
    this.#logger.warn(`[${this.name}] ${message}`, defined(attributes));
  }
}

function placeOf({ agentName, invocationId }: Context) {
  return { invocationId, agent: agentName };
}

function callOf({ tool, toolContext }: ToolParams) {
  return { ...placeOf(toolContext), tool: tool.name, callId: toolContext.functionCallId };
}

function sensitiveOf({ tool, toolContext }: ToolParams, args: Record<string, unknown>): Sensitive {
  return isSensitiveAgent(toolContext.invocationContext.agent) || sensitiveIn(tool, args);
}

function argumentsOf(call: ToolParams, args: Record<string, unknown>): string {
  const shown = shownArguments(args, sensitiveOf(call, args));
  return shown === MASK ? MASK : shortJson(shown);
}

function contentOf(agent: AgentView | undefined, content: Content | undefined): string {
  if (isSensitiveAgent(agent)) return MASK;
  if (content?.parts === undefined) return 'None';
  return content.parts.map(partText).join(' | ');
}

function partText(part: Part): string {
  if (part.text !== undefined) return `text: '${cut(part.text.trim(), LONGEST_TEXT)}'`;
  if (part.functionCall !== undefined) return `function_call: ${part.functionCall.name}`;
  if (part.functionResponse !== undefined) return `function_response: ${part.functionResponse.name}`;
  if (part.codeExecutionResult !== undefined) return 'code_execution_result';
  return 'other_part';
}

function instructionText(instruction: GenerateContentConfig['systemInstruction']): string | undefined {
  if (instruction === undefined || typeof instruction === 'string') return instruction;
  if (Array.isArray(instruction)) return instruction.map((each) => instructionText(each) ?? '').join('\n\n');
  if ('text' in instruction) return instruction.text;
  if ('parts' in instruction) return instructionText(instruction.parts);
  return undefined;
}

function shortJson(value: unknown): string {
  return cut(shownJson(value), LONGEST_JSON) ?? '';
}

function cut(text: string | undefined, longest: number): string | undefined {
  if (text === undefined || text.length <= longest) return text;
  return `${text.slice(0, longest).toWellFormed()}...`;
}
