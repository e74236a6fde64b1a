import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { Content } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { eventActionsOf } from '../../src/flows/call-actions.ts';
import { hasActed, type StepContext } from '../../src/flows/step-context.ts';
import type { PluginManager } from '../../src/plugins/plugin-manager.ts';
import { defined } from '../../src/protocol/json.ts';
import type { SavedArtifact } from '../../src/store/artifacts/artifact-store.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { Context } from '../../src/tools/context.ts';
import type { ToolCallRecord } from '../../src/tools/invocation-context.ts';
import type { UserCode } from './user-code.ts';

/** Events of user code from before the step's model call. JSON: the step's ledger row keeps it over its attempts. */
export interface Beginning {
  /** To be stored before the model's event. */
  events: DraftEvent[];
  /** The invocation ends with them: before its agent was run, or before its run had begun at all. */
  end?: 'agent' | 'run';
  /** Versions of artifacts that they have saved. */
  artifacts?: SavedArtifact[];
}

/** The beginning of a step without events of user code. */
export const NO_BEGINNING: Beginning = { events: [] };

/** The runs and agents that begin with a step. */
export interface StepStart {
  /** The first of its run. */
  isFirst: boolean;
  /** The run is the turn's own, and no child's. */
  isRoot: boolean;
  /** The agent has not acted in this run before, or the turn is transferred to it again. */
  enters: boolean;
}

/** Whether user code runs before this step's model. */
export function hasBeginning(
  agent: BaseAgent,
  plugins: PluginManager,
  { isFirst, isRoot, enters }: StepStart,
): boolean {
  if (!isFirst && plugins.has('onToolCallCompleted')) return true;
  if (isFirst && isRoot && plugins.has('beforeRunCallback')) return true;
  return enters && (agent.canonicalBeforeAgentCallbacks.length > 0 || plugins.has('beforeAgentCallback'));
}

/**
 * The first step of a turn: its plugins, then the callbacks before its agent. Semantics: `Runner.runAsync` of `@google/adk` 2.0.0.
 *
 * @throws CallbackFailed, PluginFailed
 */
export async function beginRun(code: UserCode, step: StepContext): Promise<Beginning> {
  const { invocation } = step;
  const answer = await code.plugin('beforeRunCallback', { invocationContext: invocation });
  if (answer !== undefined) {
    const { invocationId } = invocation;
    const event = {
      invocationId,
      author: 'model',
      content: asModel(answer),
      actions: createEventActions(),
    };
    return { events: [event], end: 'run' };
  }
  return await beginAgent(code, step);
}

/**
 * The callbacks before an agent. Semantics: `BaseAgent.runAsync` of `@google/adk` 2.0.0, where state alone makes an event, too.
 *
 * @throws CallbackFailed, PluginFailed
 */
export async function beginAgent(code: UserCode, step: StepContext): Promise<Beginning> {
  const { agent } = code;
  const { invocation } = step;
  if (invocation.endInvocation) return { events: [], end: 'agent' };
  const context = step.apart();
  const content = await code.first(
    'beforeAgentCallback',
    { agent, callbackContext: context },
    agent.canonicalBeforeAgentCallbacks,
    context,
  );
  const event = await eventOfCallback(code, 'beforeAgentCallback', context, content);
  const ends = content !== undefined || invocation.endInvocation;
  return { events: event === undefined ? [] : [event], ...(ends ? { end: 'agent' } : {}) };
}

/**
 * A later step: plugins hear of the calls that have their outcome. Their errors go to `failed`.
 *
 * @throws no error of theirs.
 */
export async function reportCompletedCalls(
  code: UserCode,
  step: StepContext,
  calls: readonly ToolCallRecord[],
  failed: (error: unknown) => void,
): Promise<Beginning> {
  const context = step.apart();
  for (const call of calls) {
    try {
      await code.plugin('onToolCallCompleted', { call, callbackContext: context });
    } catch (error) {
      failed(error);
    }
  }
  const end = step.invocation.endInvocation ? { end: 'agent' as const } : {};
  try {
    const event = await eventOfCallback(code, 'onToolCallCompleted', context, undefined);
    return { events: event === undefined ? [] : [event], ...end };
  } catch (error) {
    failed(error);
    return { events: [], ...end };
  }
}

/**
 * The content and actions of an agent's callback, as an event of the agent.
 *
 * @throws CallbackFailed for actions that can't be stored.
 */
export async function eventOfCallback(
  code: UserCode,
  callback: string,
  { actions, invocationId, branch }: Context,
  content: Content | undefined,
): Promise<DraftEvent | undefined> {
  if (content === undefined && !hasActed(actions)) return undefined;
  const kept = await code.callback(callback, async () => eventActionsOf(actions));
  return {
    invocationId,
    author: code.agent.name,
    ...defined({ branch }),
    ...(content === undefined ? {} : { content: asModel(content) }),
    actions: kept,
  };
}

function asModel(content: Content): Content {
  return { role: 'model', ...content };
}
