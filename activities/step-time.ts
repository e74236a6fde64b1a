import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { afterTime, type Deadline, LONGEST_TIMER } from './after-time.ts';
import type { Attempt } from './attempt.ts';
import { type Ending, whicheverComesFirst } from './race.ts';

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
  readonly #agent: Pick<LlmAgent, 'name' | 'durable'>;
  readonly #outOfTime: AbortController | undefined;
  readonly #deadline: NodeJS.Timeout | undefined;
  #timeout: Deadline | undefined;
  /** Contexts that were made earlier have the signals of earlier ones. */
  readonly #timeouts: Deadline[] = [];
  #signal: AbortSignal | undefined;

  /** @param timeLeft of the turn's wall time, milliseconds; undefined where nothing limits it. */
  constructor(
    current: Attempt,
    agent: Pick<LlmAgent, 'name' | 'durable'>,
    timeLeft: number | undefined = undefined,
  ) {
    this.#current = current;
    this.#agent = agent;
    if (timeLeft === undefined) return;
    const outOfTime = new AbortController();
    this.#outOfTime = outOfTime;
    this.#deadline = setTimeout(() => outOfTime.abort(), Math.min(timeLeft, LONGEST_TIMER));
  }

  /** Starts `modelTimeout` anew, for what is asked from now on. */
  renew(): Deadline {
    this.#timeout = afterTime(this.#agent.durable.modelTimeout);
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
    const { name, durable } = this.#agent;
    const problem = `no answer within ${durable.modelTimeout} ms (modelTimeout of the agent ${name})`;
    const endings: Ending[] = [
      [this.#current.signal, this.#current.aborted],
      ...(this.#outOfTime === undefined ? [] : ([[this.#outOfTime.signal, outOfTime]] as const)),
      [timeout, () => late(problem)],
    ];
    return await whicheverComesFirst(work, endings);
  }

  close(): void {
    clearTimeout(this.#deadline);
    for (const timeout of this.#timeouts) timeout.clear();
  }
}

function outOfTime(): OutOfTime {
  return new OutOfTime("the turn's wall time is used up: its model was being asked");
}
