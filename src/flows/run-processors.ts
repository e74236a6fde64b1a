import { CallbackFailed, callbackThrew } from '../agents/callbacks.ts';
import { MissingTemplateValue } from '../agents/instructions.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import { type BaseLlmRequestProcessor, isDirect } from '../agents/processors/base-llm-processor.ts';
import { InstructionFailed } from '../agents/processors/request-processors.ts';
import { thawRequest } from '../models/llm-request.ts';
import { PluginFailed } from '../plugins/plugin-failed.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { JsonValueError } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { DraftEvent } from '../store/sessions/session-store.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import type { ContextInit, InvocationContext } from '../tools/invocation-context.ts';
import { InvalidResultError } from '../tools/tool-error.ts';
import { draftOf, yieldedBy } from './draft-event.ts';
import { ToolFactoryFailed } from './request-tools.ts';

/**
 * User code may change a request in place, and later code must be able to read it.
 *
 * @throws TypeError naming the field.
 */
export function assertWhole(request: LlmRequest): void {
  const { contents, config, toolsDict, allowedTools } = request;
  if (!Array.isArray(contents)) throw wrong('contents', 'a list of Contents', contents);
  const index = contents.findIndex((content) => !isRecord(content) || !hasParts(content));
  if (index >= 0) throw wrong(`contents[${index}]`, 'a Content ({ role, parts })', contents[index]);
  if (config !== undefined && !isRecord(config)) throw wrong('config', 'an object', config);
  if (config?.tools !== undefined && !Array.isArray(config.tools))
    throw wrong('config.tools', 'a list', config.tools);
  if (!isRecord(toolsDict)) throw wrong('toolsDict', 'an object of tools by name', toolsDict);
  const isNames = Array.isArray(allowedTools) && allowedTools.every((name) => typeof name === 'string');
  if (allowedTools !== undefined && !isNames)
    throw wrong('allowedTools', 'a list of tool names', allowedTools);
}

function hasParts({ parts }: Record<string, unknown>): boolean {
  return parts === undefined || (Array.isArray(parts) && parts.every(isRecord));
}

function wrong(field: string, expected: string, value: unknown): TypeError {
  return new TypeError(`request.${field}: expected ${expected}, got ${kindOf(value)}`);
}

interface ProcessorRun {
  agent: LlmAgent;
  init: ContextInit;
  invocation: InvocationContext;
  request: LlmRequest;
}

/**
 * Runs the agent's request processors, in order. The state of a yielded event counts for the processors after it.
 *
 * @returns what they yielded.
 * @throws CallbackFailed naming the processor.
 */
export async function runProcessors(run: ProcessorRun): Promise<DraftEvent[]> {
  const events: DraftEvent[] = [];
  const { agent, init, invocation, request } = run;
  for (const processor of agent.requestProcessors) {
    try {
      if (isDirect(processor)) {
        const pending = processor.process(invocation, request);
        if (pending !== undefined) await pending;
        continue;
      }
      thawRequest(request);
      for await (const event of yieldedBy(processor, processor.runAsync(invocation, request))) {
        const draft = draftFrom(event, run, processor);
        overlay(init.state, draft.actions.stateDelta);
        events.push(draft);
        init.abortSignal?.throwIfAborted();
      }
      assertWhole(request);
    } catch (error) {
      throw isNamed(error) ? error : callbackThrew(agent.name, nameOf(processor), error);
    }
    init.abortSignal?.throwIfAborted();
  }
  return events;
}

/** Errors that say by themselves what has failed. */
const NAMED = [
  CallbackFailed,
  DefinitionError,
  InstructionFailed,
  MissingTemplateValue,
  PluginFailed,
  ToolFactoryFailed,
];

function isNamed(error: unknown): boolean {
  return NAMED.some((kind) => error instanceof kind);
}

function nameOf(processor: BaseLlmRequestProcessor): string {
  return `request processor ${processor.constructor.name}`;
}

function draftFrom(
  event: unknown,
  { agent, invocation }: ProcessorRun,
  processor: BaseLlmRequestProcessor,
): DraftEvent {
  const refuse = (problem: string, cause?: unknown): CallbackFailed =>
    new CallbackFailed({ agent: agent.name, callback: nameOf(processor), problem, cause, retryable: false });
  if (!isRecord(event)) throw refuse(`it must yield events, yielded ${kindOf(event)}`);
  try {
    return draftOf(event, invocation);
  } catch (error) {
    if (!(error instanceof JsonValueError || error instanceof InvalidResultError)) throw error;
    throw refuse(`the event that it yielded can't be kept: ${error.message}`, error);
  }
}

function overlay(state: Readonly<Record<string, unknown>>, delta: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(delta)) {
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(state, key, { value, configurable: true, enumerable: true, writable: true });
  }
}
