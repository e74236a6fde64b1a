import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { modelOutputOf } from '../../src/flows/model-output.ts';
import { StepContext, type StepContextInit } from '../../src/flows/step-context.ts';
import {
  draftFromError,
  errorEvent,
  hasNextStep,
  type StepDraft,
  shortened,
} from '../../src/flows/step-draft.ts';
import { type Transcript, transcriptView } from '../../src/flows/transcript.ts';
import type { PluginManager } from '../../src/plugins/plugin-manager.ts';
import { defined } from '../../src/protocol/json.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { eventOfCallback } from './step-beginning.ts';
import { type StepTime, seenEvent, UserCode } from './user-code.ts';

/** The agents whose end a run's end is. */
export interface EndingAgents {
  /** The one that acts. */
  agent: BaseAgent;
  /** Those that have transferred the turn, the first one first: their ends come after its own, the first one's last. */
  transferredBy: readonly BaseAgent[];
  /** The run is the turn's own, and no child's. */
  isRoot: boolean;
}

/** Whether user code is asked about a step's events, or about the end of its run. */
export function hasEnding(
  { agent, transferredBy, isRoot }: EndingAgents,
  plugins: PluginManager,
  ends: boolean,
): boolean {
  if (plugins.has('onEventCallback')) return true;
  if (!ends) return false;
  return (
    [agent, ...transferredBy].some(({ canonicalAfterAgentCallbacks: callbacks }) => callbacks.length > 0) ||
    plugins.has('afterAgentCallback') ||
    (isRoot && plugins.has('afterRunCallback'))
  );
}

interface StepEndingParts extends Pick<EndingAgents, 'transferredBy' | 'isRoot'> {
  plugins: PluginManager;
  time: StepTime;
  contextInit: Omit<StepContextInit, 'transcript'>;
  transcript: Transcript | undefined;
  /** Of the step's events. */
  place: Pick<StoredEvent, 'runKey' | 'step'>;
  invocation: InvocationContext;
  failed: (error: unknown) => void;
}

/**
 * Runs user code for a step that is about to be recorded: for its events and, where it ends the turn, for the end of the agent and
 * of its run. Semantics: `Runner.runAsync` and `BaseAgent.runAsync` of `@google/adk` 2.0.0, but the store keeps a plugin's event.
 */
export class StepEnding {
  readonly #parts: StepEndingParts;
  readonly #code: UserCode;

  constructor(parts: StepEndingParts) {
    this.#parts = parts;
    this.#code = new UserCode(parts.contextInit.agent, parts.plugins, parts.time);
  }

  async of(draft: StepDraft): Promise<StepDraft> {
    this.#parts.time.renew();
    const seen = await this.#seen(draft);
    if (hasNextStep(seen) || seen.cut === 'run') return seen;
    const ended = seen.cut === undefined ? await this.#afterAgents(seen) : seen;
    if (this.#parts.isRoot) await this.#afterRun(ended.events);
    return ended;
  }

  /** Shows each event to plugins. If a plugin fails, the step fails, and the model's usage counts. */
  async #seen(draft: StepDraft): Promise<StepDraft> {
    const { plugins, invocation } = this.#parts;
    if (!plugins.has('onEventCallback')) return draft;
    const events: NewEvent[] = [];
    for (const { kind, event } of draft.events) {
      try {
        events.push({ kind, event: await seenEvent(this.#code, invocation, event, kind) });
      } catch (error) {
        this.#failed(error);
        if (kind === 'error') {
          events.push({ kind, event });
          continue;
        }
        const failure = this.#failureOf(error);
        return { ...draftFromError(draft.asked, failure, { usage: draft.usage, events }), ...cutOf(draft) };
      }
    }
    return { ...draft, events };
  }

  async #afterAgents(given: StepDraft): Promise<StepDraft> {
    const { plugins, time, transferredBy } = this.#parts;
    let draft = await this.#afterAgent(given, this.#code);
    for (const agent of transferredBy.toReversed()) {
      draft = await this.#afterAgent(draft, new UserCode(agent, plugins, time));
    }
    return draft;
  }

  async #afterAgent(draft: StepDraft, code: UserCode): Promise<StepDraft> {
    const { agent } = code;
    const { plugins } = this.#parts;
    const callbacks = agent.canonicalAfterAgentCallbacks;
    if (callbacks.length === 0 && !plugins.has('afterAgentCallback')) return draft;
    const { events, asked, usage } = draft;
    const step = this.#contextAfter(events, agent);
    try {
      const context = step.apart();
      const content = await code.first(
        'afterAgentCallback',
        { agent, callbackContext: context },
        callbacks,
        context,
      );
      const event = await eventOfCallback(code, 'afterAgentCallback', context, content);
      if (event === undefined) return draft;
      const seen = await seenEvent(code, step.invocation, event);
      return { ...draft, events: [...events, { kind: 'callback', event: seen }] };
    } catch (error) {
      this.#failed(error);
      if (draft.error !== undefined) return draft;
      const failure = shortened(this.#failureOf(error));
      return { asked, usage, events: [...events, errorEvent(asked, failure)], error: failure };
    }
  }

  async #afterRun(events: readonly NewEvent[]): Promise<void> {
    if (!this.#parts.plugins.has('afterRunCallback')) return;
    const { invocation } = this.#contextAfter(events);
    try {
      await this.#code.plugin('afterRunCallback', { invocationContext: invocation });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** A context with the step's own events. */
  #contextAfter(events: readonly NewEvent[], agent = this.#code.agent): StepContext {
    const { contextInit, transcript, place } = this.#parts;
    let after: Transcript | undefined;
    const view = () => {
      after ??= transcript?.followedBy(events.map((each) => storedAs(each, place)));
      return transcriptView(after as Transcript, contextInit.invocationId);
    };
    const step = new StepContext({
      ...contextInit,
      agent,
      state: { ...contextInit.state },
      transcript:
        transcript === undefined
          ? undefined
          : {
              events: () => view().events(),
              contents: (perspective) => view().contents(perspective),
              toolCalls: () => view().toolCalls(),
            },
    });
    for (const { event } of events) step.keep(event.actions);
    return step;
  }

  /** @throws the error that ends the attempt, which is no failure of user code. */
  #failed(error: unknown): void {
    if (this.#parts.time.isOver) throw error;
    this.#parts.failed(error);
  }

  #failureOf(error: unknown): { code: string; message: string } {
    if (!(error instanceof Error)) throw error;
    const code = 'code' in error && typeof error.code === 'string' ? error.code : 'HOLDFAST_UNEXPECTED';
    return { code, message: error.message };
  }
}

function cutOf({ cut }: StepDraft): Pick<StepDraft, 'cut'> {
  return defined({ cut });
}

function storedAs({ kind, event }: NewEvent, place: Pick<StoredEvent, 'runKey' | 'step'>) {
  return { ...place, kind, event: { ...event, id: '', timestamp: Date.now() } };
}

/**
 * The value of an answer of an agent with an output schema; undefined where it doesn't match the schema.
 *
 * @throws an error that ends the attempt.
 */
export async function outputOf(
  code: UserCode,
  text: string | undefined,
  failed: (error: unknown) => void,
): Promise<{ value: unknown } | undefined> {
  const { agent } = code;
  if (!isLlmAgent(agent) || agent.outputSchema === undefined || text === undefined || text.trim() === '')
    return undefined;
  try {
    const { output, problem } = await code.callback('outputSchema', () => modelOutputOf(agent, text));
    if (problem !== undefined) failed(new Error(`the answer does not match outputSchema: ${problem}`));
    return output;
  } catch (error) {
    failed(error);
    return undefined;
  }
}
