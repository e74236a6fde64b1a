import type { MetricMeter } from '@temporalio/common';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import type { InvocationOutcome } from '../../src/protocol/turn.ts';
import type { WaitingTurns } from '../../src/store/turns/turn-store.ts';

/** The app is unknown to activities that get the store's id of the session only. */
interface StepFacts {
  app: string;
  agent: string;
  model: string;
  /** The step's outcome: `calls`, `final` or `failed`. */
  outcome: string;
}

export interface CallFacts {
  app: string;
  agent: string;
  tool: string;
}

/** The app is unknown to steps that wait before the store was asked, the agent to turns that have not begun. */
interface LimitFacts {
  app: string;
  agent: string;
  kind: 'model' | 'turns';
  name: string;
}

type Labels = Readonly<Record<string, string>>;

/** A price is fractional, and Temporal's counters are whole: millionths of the price table's unit. */
const MICRO = 1_000_000;
const MILLISECOND = 1_000;

/**
 * Counts what turns do, on the meter of Temporal's runtime, so that one endpoint has the metrics of Holdfast and of the SDK. An
 * outcome that is only read again isn't counted again. No label names a user, a session or a turn.
 */
export class TurnMetrics {
  readonly #meter: MetricMeter;
  readonly #values = new LabelValues();
  readonly #turns;
  readonly #turnTime;
  readonly #children;
  readonly #childTime;
  readonly #waits;
  readonly #steps;
  readonly #modelTime;
  readonly #tokens;
  readonly #cost;
  readonly #calls;
  readonly #callTime;
  readonly #failures;
  readonly #requests;
  readonly #limitWaits;
  readonly #waiting;
  readonly #longestWait;
  /** Labels of the gauges that are not 0. */
  #waited: Labels[] = [];

  constructor(meter: MetricMeter) {
    this.#meter = meter;
    this.#turns = this.#counter('holdfast_turns', 'turn', 'turns that have ended');
    this.#turnTime = this.#seconds('holdfast_turn_seconds', 'from the first step of a turn to its end');
    this.#children = this.#counter('holdfast_child_runs', 'run', 'agents below a turn that have ended');
    this.#childTime = this.#seconds(
      'holdfast_child_run_seconds',
      'from the begin of an agent below a turn to its end',
    );
    this.#waits = this.#seconds(
      'holdfast_message_wait_seconds',
      'from the arrival of a message to the first step of its turn',
    );
    this.#steps = this.#counter('holdfast_steps', 'step', 'model steps that were recorded');
    this.#modelTime = this.#seconds('holdfast_model_seconds', 'of one request to a model');
    this.#tokens = this.#counter('holdfast_tokens', 'token', 'tokens of model calls');
    this.#cost = this.#counter(
      'holdfast_cost_micros',
      '',
      'cost of model calls, in millionths of the price unit',
    );
    this.#calls = this.#counter('holdfast_calls', 'call', 'finished tool calls');
    this.#callTime = this.#seconds('holdfast_call_seconds', 'of one attempt of a tool');
    this.#failures = this.#counter('holdfast_failures', 'failure', 'failed attempts of models and tools');
    this.#requests = this.#counter(
      'holdfast_requests',
      'request',
      'requests to people of finished tool calls',
    );
    this.#limitWaits = this.#counter(
      'holdfast_limit_waits',
      'attempt',
      'attempts that waited for a rate limit or for other turns',
    );
    this.#waiting = this.#gauge('holdfast_turns_waiting', 'turn', 'turns that wait for people or jobs');
    this.#longestWait = this.#gauge('holdfast_longest_wait_seconds', 's', 'age of the oldest wait of turns');
  }

  /** Counts an attempt that waits for a model's rate limit (`name`: its key) or for other turns of its app or user. */
  limitWaited({ app, agent, kind, name }: LimitFacts): void {
    this.#limitWaits.add(1, { app, agent, kind, name });
  }

  /** Shows what the store counts; what it no longer has is 0. */
  turnsWait(waiting: readonly WaitingTurns[]): void {
    for (const labels of this.#waited)
      for (const gauge of [this.#waiting, this.#longestWait]) gauge.set(0, labels);
    this.#waited = waiting.map(({ app, kind, turns, longestMs }) => {
      const labels = { app, kind };
      this.#waiting.set(turns, labels);
      this.#longestWait.set(Math.max(longestMs, 0) / MILLISECOND, labels);
      return labels;
    });
  }

  /** Counts the end of a turn, or of an agent below its root, which is no turn of its own. */
  runEnded(
    { app, agent, isChild }: { app: string; agent: string; isChild: boolean },
    { status, error }: Pick<InvocationOutcome, 'status' | 'error'>,
    ms: number,
  ): void {
    const code = error === undefined ? '' : errorType(error.code);
    const [runs, time] = isChild ? [this.#children, this.#childTime] : [this.#turns, this.#turnTime];
    runs.add(1, { app, agent, status, code });
    time.record(Math.max(ms, 0) / MILLISECOND, { app, agent, status });
  }

  turnBegan({ app }: { app: string }, waitedMs: number): void {
    this.#waits.record(Math.max(waitedMs, 0) / MILLISECOND, { app });
  }

  stepRecorded(
    { app, agent, model, outcome }: StepFacts,
    { promptTokens, outputTokens, cost }: TurnUsage,
  ): void {
    this.#steps.add(1, { app, agent, model, outcome });
    if (promptTokens > 0) this.#tokens.add(promptTokens, { app, agent, model, type: 'input' });
    if (outputTokens > 0) this.#tokens.add(outputTokens, { app, agent, model, type: 'output' });
    if (cost !== undefined && cost > 0) this.#cost.add(Math.round(cost * MICRO), { app, agent, model });
  }

  modelAnswered({ app, agent, model }: Omit<StepFacts, 'outcome'>, ms: number): void {
    this.#modelTime.record(ms / MILLISECOND, { app, agent, model });
  }

  modelFailed({ app, agent, model }: Omit<StepFacts, 'outcome'>, code: string): void {
    this.#failures.add(1, { app, agent, kind: 'model', name: model, code: errorType(code) });
  }

  callFinished({ app, agent, tool }: CallFacts, failed: boolean): void {
    this.#calls.add(1, { app, agent, tool, outcome: failed ? 'failed' : 'completed' });
  }

  callAttempted({ app, agent, tool }: CallFacts, ms: number): void {
    this.#callTime.record(ms / MILLISECOND, { app, agent, tool });
  }

  callFailed({ app, agent, tool }: CallFacts, code: string): void {
    this.#failures.add(1, { app, agent, kind: 'tool', name: tool, code: errorType(code) });
  }

  /** Counts the requests that the settling of a call ends: so each is counted once. */
  requestsEnded(requests: readonly Pick<ApprovalRow, 'app' | 'agent' | 'tool' | 'kind' | 'status'>[]): void {
    for (const { app, agent, tool, kind, status } of requests) {
      if (status !== 'pending') this.#requests.add(1, { app, agent, tool, kind, outcome: status });
    }
  }

  #counter(name: string, unit: string, description: string) {
    const counter = this.#meter.createCounter(name, unit, description);
    return { add: (value: number, labels: Labels) => counter.add(value, this.#values.bounded(labels)) };
  }

  #gauge(name: string, unit: string, description: string) {
    const gauge = this.#meter.createGauge(name, 'float', unit, description);
    return { set: (value: number, labels: Labels) => gauge.set(value, this.#values.bounded(labels)) };
  }

  #seconds(name: string, description: string) {
    const histogram = this.#meter.createHistogram(name, 'float', 's', description);
    return {
      record: (value: number, labels: Labels) => histogram.record(value, this.#values.bounded(labels)),
    };
  }
}

const OTHER = '_OTHER';
const LONGEST_TYPE = 64;

/** How codes and names of errors look: `SAFETY`, `ECONNRESET`, `rate_limit`, `TypeError`, `429`. */
const TYPE = /^(?:[A-Z][A-Z0-9_]*|[A-Za-z]+(?:[._][A-Za-z]+)*|\d{3})$/;

/** Models and tools set their errors' codes as they like: what doesn't look like one may quote what must not be told. */
export function errorType(code: unknown): string {
  return typeof code === 'string' && code.length <= LONGEST_TYPE && TYPE.test(code) ? code : OTHER;
}

/** The type of any thrown value. */
export function errorTypeOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return OTHER;
    return errorType('code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name);
  } catch {
    // Anything can be thrown: revoked proxies and getters that throw answer no question.
    return OTHER;
  }
}

const MOST_VALUES = 200;
const LONGEST_VALUE = 200;

/**
 * Clients name apps and agents, and each value of a label is a time series that is kept for good: beyond a few hundred
 * values of one label, the others count as one.
 */
class LabelValues {
  readonly #known = new Map<string, Set<string>>();

  bounded(labels: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(labels).map(([label, value]) => [label, this.#taken(label, value)]),
    );
  }

  #taken(label: string, value: string): string {
    const known = this.#known.get(label) ?? new Set();
    this.#known.set(label, known);
    if (known.has(value)) return value;
    if (known.size >= MOST_VALUES || value.length > LONGEST_VALUE) return OTHER;
    known.add(value);
    return value;
  }
}
