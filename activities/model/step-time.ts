import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { afterTime, type Deadline, LONGEST_TIMER } from '../after-time.ts';
import type { Attempt } from '../attempt.ts';
import { type Ending, whicheverComesFirst } from '../race.ts';

/** An agent that asks no model waits for its callbacks as long as one does by default. */
const DEFAULT_TIMEOUT = 600_000;

/** Whose model, and whose callbacks, are waited for. */
export interface TimedAgent extends Pick<BaseAgent, 'name'> {
  /** Of one that asks a model. */
  readonly durable?: { readonly modelTimeout: number };
}

/** The turn's wall time was used up while its model, or user code, was asked. */
export class OutOfTime extends Error {
  readonly code = 'HOLDFAST_BUDGET_EXCEEDED';
  override readonly name = 'OutOfTime';
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

  /** Starts `modelTimeout` anew, for what is asked from now on. */
  renew(): Deadline {
    this.#timeout = afterTime(this.#longest);
    this.#timeouts.push(this.#timeout);
    this.#signal = undefined;
    return this.#timeout;
  }

  /** The attempt has ended, or the turn's time: whatever else has failed is not worth telling. */
  get isOver(): boolean {
    return this.#current.signal.aborted || this.#outOfTime?.signal.aborted === true;
  }

  /** Fires when what is being asked is waited for no longer. */
  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any(
      [this.#current.signal, this.#timeout?.signal, this.#outOfTime?.signal].filter(
        (signal) => signal !== undefined,
      ),
    );
    return this.#signal;
  }

  /**
   * @param late makes the error of an answer that hasn't come within `modelTimeout`, of what is wrong.
   * @throws OutOfTime
   */
  async race<T>(work: Promise<T>, late: (problem: string) => Error): Promise<T> {
    const { signal: timeout } = this.#timeout ?? this.renew();
    const problem = `no answer within ${this.#longest} ms (modelTimeout of the agent ${this.#agent.name})`;
    const endings: Ending[] = [
      [this.#current.signal, this.#current.aborted],
      ...(this.#outOfTime === undefined ? [] : ([[this.#outOfTime.signal, outOfTime]] as const)),
      [timeout, () => late(problem)],
    ];
    return await whicheverComesFirst(work, endings);
  }

  get #longest(): number {
    return this.#agent.durable?.modelTimeout ?? DEFAULT_TIMEOUT;
  }

  close(): void {
    clearTimeout(this.#deadline);
    for (const timeout of this.#timeouts) timeout.clear();
  }
}

function outOfTime(): OutOfTime {
  return new OutOfTime("the turn's wall time is used up: its model was being asked");
}
