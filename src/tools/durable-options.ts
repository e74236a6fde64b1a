import type { Sensitive } from '../approvals/sensitive.ts';
import { isRecord } from '../protocol/json.ts';
import { type Duration, formatDuration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { OptionReader, type OptionsFor, type Resolved, readFrom } from '../schema/options.ts';
import type { ToolGate } from './gate-options.ts';
import { type RetryOptions, resolveRetryOptions } from './retry-options.ts';

/** Decides about a call that may have run. */
export type OnUnknownOutcome = 'retry' | 'fail' | 'ask';

/** How Holdfast runs a tool: options of ours, beside those of ADK. */
export interface DurableOptions {
  /**
   * Longest run of one attempt.
   *
   * @default 5 minutes; 10 seconds with `execution: 'inline'`; not more than `totalTimeout`; with `inProcess: true` the `deadline`
   * @format milliseconds, or text like `'90s'`
   */
  timeout?: Duration;
  /**
   * Longest time from the call to its outcome: all attempts, the waits between them and the wait for a worker. Not
   * shorter than `timeout`.
   *
   * @default 1 hour; with `inProcess: true` the `deadline`
   * @format milliseconds, or text like `'2 hours'`
   */
  totalTimeout?: Duration;
  /**
   * After this long without a sign of life from the worker the attempt counts as lost. Holdfast beats by itself. For an inline
   * call this is the time of its step, 10 seconds.
   *
   * @default 10 seconds
   * @format milliseconds, or text like `'30s'`
   */
  heartbeatTimeout?: Duration;
  /**
   * How failures are tried again: three attempts, 1 to 30 seconds apart, by default; a single one where calls wait for a person's
   * approval, which is for one run.
   */
  retry?: RetryOptions;
  /**
   * Whether running the call twice does no more than running it once.
   *
   * @default true
   */
  idempotent?: boolean;
  /**
   * Decides about a call that was started and left no outcome, because the worker died: run it again, tell the
   * model that it may have run, or ask a person whether to run it again.
   *
   * @default 'retry'; 'fail' with `idempotent: false`, and where calls wait for a person's approval
   */
  onUnknownOutcome?: 'retry' | 'fail' | 'ask';
  /**
   * Whether the call may run beside other calls of the same step. Calls that may not run one after another.
   *
   * @default true
   */
  isConcurrencySafe?: boolean;
  /**
   * Each call is an activity of its own (`'activity'`), or runs in the activity of its step, which is quicker and shows it as a part of
   * itself (`'inline'`), or the latter if the tool's terms allow it (`'auto'`): it is idempotent, asks nobody, has no job and has a
   * `timeout` of up to 10 seconds. A call that waits for a person, an agent's call and one that runs alone are activities in any case.
   *
   * @default 'activity'
   */
  execution?: 'activity' | 'inline' | 'auto';
  /**
   * One line about a call for the Temporal UI. Gets the model's arguments as they came, not validated; where it
   * throws, the default stands. Not called for calls with sensitive arguments.
   *
   * @default short values of the arguments, as `order: A-1, cents: 4200`; of a call with sensitive arguments their names
   */
  summary?: (args: Record<string, unknown>) => string;
  /**
   * Keeps arguments and result (`true`), or those named, out of history, summaries and logs. `'result'` names the
   * result, and an argument of that name.
   *
   * @default false
   */
  sensitive?: boolean | readonly string[];
  /**
   * Loads the transcript for the tool's context: `context.turnToolCalls`, `session.events` and `contents()` of its
   * invocation. Tools that leave it out cost no reading.
   *
   * @default false
   */
  needsTranscript?: boolean;
}

export const DURABLE = {
  timeout: option.duration(300_000),
  totalTimeout: option.duration(3_600_000),
  heartbeatTimeout: option.duration(10_000),
  retry: option.group(resolveRetryOptions),
  idempotent: option.flag(true),
  onUnknownOutcome: option.choice(['retry', 'fail', 'ask'], 'retry'),
  isConcurrencySafe: option.flag(true),
  execution: option.choice(['activity', 'inline', 'auto'], 'activity'),
  summary: option.callback('a function of the arguments'),
  sensitive: option.custom(sensitiveOf, false),
  needsTranscript: option.flag(false),
} satisfies OptionsFor<DurableOptions>;

/** {@link DurableOptions} with their defaults; all durations in milliseconds. */
export interface ResolvedDurableOptions extends Resolved<typeof DURABLE> {}

/** Further properties of a tool on which its durable options depend. */
interface ToolBeside {
  gate?: ToolGate | undefined;
  /** Deadline of a job that is the tool's own run, milliseconds. */
  inProcess?: number | undefined;
}

/** The facts of a tool that decide the defaults of its durable options. */
interface DefaultsOf {
  execution: 'activity' | 'inline' | 'auto';
  idempotent: boolean;
  isApproved: boolean;
}

/** Durations in milliseconds; a `totalTimeout` that is shorter than the default `timeout` shortens that. */
export function durableDefaults({ execution, idempotent, isApproved }: DefaultsOf) {
  return {
    timeout: execution === 'inline' ? 10_000 : 300_000,
    totalTimeout: 3_600_000,
    heartbeatTimeout: 10_000,
    maximumAttempts: isApproved ? 1 : 3,
    onUnknownOutcome: idempotent && !isApproved ? 'retry' : 'fail',
  } as const;
}

/**
 * Checks the durable options of a tool and fills in the defaults. Looks at no other fields of `options`.
 *
 * @param owner whose options they are, for messages: `FunctionTool "pay"`.
 * @throws DefinitionError naming the option.
 */
export function resolveDurableOptions(
  options: DurableOptions,
  owner = 'durable options',
  { gate, inProcess }: ToolBeside = {},
): ResolvedDurableOptions {
  const read = new OptionReader(owner, isRecord(options) ? options : {});
  const given = readFrom(DURABLE, read);
  const { execution, idempotent } = given;
  const isApproved = gate?.confirmation !== undefined;
  const defaults = durableDefaults({ execution, idempotent, isApproved });
  const { onUnknownOutcome } = read.given('onUnknownOutcome') ? given : defaults;
  return Object.freeze({
    ...given,
    ...(inProcess === undefined ? timeoutsOf(read, given, defaults) : ofJob(read, given, inProcess)),
    retry: resolveRetryOptions(owner, 'retry', read.value('retry'), defaults.maximumAttempts),
    onUnknownOutcome,
  });
}

type Timeouts = Pick<ResolvedDurableOptions, 'timeout' | 'totalTimeout'>;

function timeoutsOf(read: OptionReader, given: Timeouts, defaults: Timeouts): Timeouts {
  const { totalTimeout } = given;
  const timeout = read.given('timeout') ? given.timeout : Math.min(totalTimeout, defaults.timeout);
  if (totalTimeout < timeout) {
    read.fail(
      'totalTimeout',
      `${formatDuration(totalTimeout)}${read.given('totalTimeout') ? '' : ' (the default)'} is shorter than ` +
        `the timeout of one attempt, ${formatDuration(timeout)}`,
    );
  }
  return { timeout, totalTimeout };
}

/** One attempt may be the whole job. */
function ofJob(read: OptionReader, given: Timeouts, deadline: number): Timeouts {
  for (const name of ['timeout', 'totalTimeout'] as const) {
    if (!read.given(name) || given[name] === deadline) continue;
    read.fail(
      name,
      `${formatDuration(given[name])} contradicts the deadline of the job, which with inProcess: true is the tool's own run, ` +
        `${formatDuration(deadline)}: leave ${name} out, and set deadline`,
    );
  }
  return { timeout: deadline, totalTimeout: deadline };
}

function sensitiveOf(value: unknown, read: OptionReader, field: string): Sensitive {
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) {
    return read.fail(field, `expected true, false or a list of argument names, got ${kindOf(value)}`);
  }
  for (const [index, name] of value.entries()) {
    if (typeof name !== 'string' || name === '') {
      read.fail(`${field}[${index}]`, `expected the name of an argument, or 'result'${got(name)}`);
    }
  }
  return Object.freeze([...value]);
}

function got(value: unknown): string {
  return value === '' ? ", got ''" : `, got ${kindOf(value)}`;
}
