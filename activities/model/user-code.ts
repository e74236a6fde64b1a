import { randomUUID } from 'node:crypto';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { CallbackFailed, callbackThrew } from '../../src/agents/callbacks.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { EventKind } from '../../src/contract/events.ts';
import type { Content } from '../../src/events/content.ts';
import type { Event } from '../../src/events/event.ts';
import { draftOf } from '../../src/flows/draft-event.ts';
import type { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { readAnswer } from '../../src/plugins/plugin-answer.ts';
import { PluginFailed } from '../../src/plugins/plugin-failed.ts';
import type { PluginHook, PluginManager } from '../../src/plugins/plugin-manager.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import type { Attempt } from '../attempt.ts';
import { afterTime, type Deadline, type Ending, LONGEST_TIMER, raceEndings } from '../deadline.ts';

type Params<Hook extends PluginHook> = Parameters<BasePlugin[Hook]>[0];
type Answer<Hook extends PluginHook> = Awaited<ReturnType<BasePlugin[Hook]>>;

/** Hooks that agents have callbacks for, under the same names. */
type SharedHook =
  | 'beforeAgentCallback'
  | 'afterAgentCallback'
  | 'beforeModelCallback'
  | 'afterModelCallback'
  | 'onModelErrorCallback';

type Callback<Given> = (given: Given) => unknown;

/** The plugins of an app and the callbacks of an agent, asked in their order and waited for no longer than the step may take. */
export class UserCode<Agent extends BaseAgent = BaseAgent> {
  readonly agent: Agent;
  readonly plugins: PluginManager;
  readonly #time: StepTime;

  constructor(agent: Agent, plugins: PluginManager, time: StepTime) {
    this.agent = agent;
    this.plugins = plugins;
    this.#time = time;
  }

  /**
   * The answer of the first plugin that has one.
   *
   * @throws PluginFailed
   */
  async plugin<Hook extends PluginHook>(hook: Hook, params: Params<Hook>): Promise<Answer<Hook> | undefined> {
    if (!this.plugins.has(hook)) return undefined;
    return await this.#time.race(this.plugins.run(hook, params), (problem) => {
      const plugin = this.plugins.plugins.map(({ name }) => name).join(', ');
      return new PluginFailed({ plugin, hook, problem, retryable: true });
    });
  }

  /**
   * The answer of the first plugin, else of the agent's first callback, that has one. A falsy value is no answer, as in
   * `@google/adk` 2.0.0.
   *
   * @throws PluginFailed, CallbackFailed
   */
  async first<Hook extends SharedHook, Given>(
    hook: Hook,
    params: Params<Hook>,
    callbacks: readonly Callback<Given>[],
    given: Given,
  ): Promise<Answer<Hook> | undefined> {
    const answer = await this.plugin(hook, params);
    if (answer !== undefined) return answer;
    for (const [index, callback] of callbacks.entries()) {
      const name = callbacks.length === 1 ? hook : `${hook}[${index}]`;
      const own = await this.callback(name, async () => await callback(given));
      if (!own) continue;
      const read = readAnswer(hook, own);
      if ('value' in read) return read.value as Answer<Hook>;
      throw new CallbackFailed({
        agent: this.agent.name,
        callback: name,
        problem: read.problem,
        retryable: false,
      });
    }
    return undefined;
  }

  /**
   * @param name as the agent's configuration has it.
   * @throws CallbackFailed
   */
  async callback<T>(name: string, run: () => Promise<T>): Promise<T> {
    const agent = this.agent.name;
    const work = async () => {
      try {
        return await run();
      } catch (thrown) {
        throw thrown instanceof CallbackFailed ? thrown : callbackThrew(agent, name, thrown);
      }
    };
    return await this.#time.race(
      work(),
      (problem) => new CallbackFailed({ agent, callback: name, problem, retryable: true }),
    );
  }
}

/** An agent that asks no model waits for its callbacks as long as one does by default. */
const DEFAULT_TIMEOUT = 600_000;

/** The agent whose model and callbacks run. */
interface TimedAgent extends Pick<BaseAgent, 'name'> {
  /** Options of an agent that asks a model. */
  readonly durable?: { readonly modelTimeout: number };
}

/**
 * How long a step waits for models and user code, which need not heed their signal: until the attempt is cancelled, the
 * turn's wall time is used up, or the agent's `modelTimeout` is over.
 */
export class StepTime {
  readonly #current: Attempt;
  readonly #agent: TimedAgent;
  readonly #outOfTime: AbortController | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;
  #timeout: Deadline | undefined;
  /** Contexts that were made earlier have the signals of earlier ones. */
  readonly #timeouts: Deadline[] = [];
  #signal: AbortSignal | undefined;

  /** @param timeLeft of the turn's wall time, milliseconds; undefined where nothing limits it. */
  constructor(current: Attempt, agent: TimedAgent, timeLeft: number | undefined = undefined) {
    this.#current = current;
    this.#agent = agent;
    if (timeLeft === undefined) return;
    const outOfTime = new AbortController();
    this.#outOfTime = outOfTime;
    this.#deadline = setTimeout(() => outOfTime.abort(), Math.min(timeLeft, LONGEST_TIMER));
  }

  /** Starts `modelTimeout` again, for the next question. */
  renew(): Deadline {
    this.#timeout = afterTime(this.#longest);
    this.#timeouts.push(this.#timeout);
    this.#signal = undefined;
    return this.#timeout;
  }

  /** The attempt has ended, or the turn's time: other failures are not worth telling. */
  get isOver(): boolean {
    return this.#current.signal.aborted || this.#outOfTime?.signal.aborted === true;
  }

  /** Fires when the step no longer waits for the current question. */
  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any(
      [this.#current.signal, this.#timeout?.signal, this.#outOfTime?.signal].filter(
        (signal) => signal !== undefined,
      ),
    );
    return this.#signal;
  }

  /**
   * @param late makes the error of an answer that hasn't come within `modelTimeout`, from the problem's text.
   * @throws HOLDFAST_BUDGET_EXCEEDED
   */
  async race<T>(work: Promise<T>, late: (problem: string) => Error): Promise<T> {
    const { signal: timeout } = this.#timeout ?? this.renew();
    const problem = `no answer within ${this.#longest} ms (modelTimeout of the agent ${this.#agent.name})`;
    const endings: Ending[] = [
      [this.#current.signal, this.#current.aborted],
      ...(this.#outOfTime === undefined ? [] : ([[this.#outOfTime.signal, outOfTime]] as const)),
      [timeout, () => late(problem)],
    ];
    return await raceEndings(work, endings);
  }

  get #longest(): number {
    return this.#agent.durable?.modelTimeout ?? DEFAULT_TIMEOUT;
  }

  close(): void {
    clearTimeout(this.#deadline);
    for (const timeout of this.#timeouts) timeout.clear();
  }
}

/** The turn's wall time was used up while its model, or user code, was asked. */
function outOfTime(): HoldfastError {
  return new HoldfastError(
    'HOLDFAST_BUDGET_EXCEEDED',
    "the turn's wall time is used up: its model was being asked",
  );
}

const HOOK = 'onEventCallback';

/**
 * An event as plugins let it be stored: a returned event takes its place, and changes in the event count. Its calls and responses
 * stay, by id and name, because the model's own calls are run and answered. The questions of an event of kind `request` stay as
 * they are: people are to decide about the arguments that will run.
 *
 * @throws PluginFailed
 */
export async function seenEvent(
  code: UserCode,
  invocationContext: InvocationContext,
  draft: DraftEvent,
  kind?: EventKind,
): Promise<DraftEvent> {
  if (!code.plugins.has(HOOK)) return draft;
  const copy = copyOf(draft);
  // The store refuses it with the reason.
  if (copy === undefined) return draft;
  const calls = callsIn(draft.content);
  const { author, branch } = draft;
  const event = { ...copy, id: randomUUID(), timestamp: Date.now() };
  const answer: Partial<Event> = (await code.plugin(HOOK, { invocationContext, event })) ?? event;
  const given = { ...answer, actions: answer.actions ?? event.actions };
  try {
    const seen = draftOf(
      {
        ...(kind === 'request' ? askingAs(draft, given) : given),
        ...(answer.author || author === undefined ? {} : { author }),
        ...(answer.branch || branch === undefined ? {} : { branch }),
      },
      invocationContext,
    );
    if (callsIn(seen.content) === calls) return seen;
  } catch (error) {
    throw refused(code, thrownMessage(error));
  }
  throw refused(
    code,
    'the event must keep its calls and responses, with their ids and names, in their order; their arguments may change',
  );
}

function askingAs({ content, longRunningToolIds, actions }: DraftEvent, given: Partial<Event>) {
  const { requestedToolConfirmations, requestedAuthConfigs } = actions;
  return {
    ...given,
    content,
    longRunningToolIds,
    actions: { ...given.actions, requestedToolConfirmations, requestedAuthConfigs },
  };
}

/** A plugin that fails may have changed what it was given; as JSON carries it, or undefined where that can't. */
function copyOf(draft: DraftEvent): DraftEvent | undefined {
  try {
    return JSON.parse(JSON.stringify(draft));
  } catch {
    return undefined;
  }
}

function refused({ plugins }: UserCode, problem: string): PluginFailed {
  const plugin = plugins.plugins.map(({ name }) => name).join(', ');
  return new PluginFailed({ plugin, hook: HOOK, problem, retryable: false });
}

function callsIn(content: Content | undefined): string {
  const calls = (content?.parts ?? []).flatMap(
    ({ functionCall, functionResponse, executableCode, codeExecutionResult }) => {
      if (functionCall !== undefined) return [['call', functionCall.id, functionCall.name]];
      if (functionResponse !== undefined) return [['response', functionResponse.id, functionResponse.name]];
      if (executableCode !== undefined) return [['code']];
      return codeExecutionResult === undefined ? [] : [['result']];
    },
  );
  return JSON.stringify(calls);
}
