import { StoreError } from '../../src/store/store-errors.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { thrownMessage } from '../../src/tools/thrown-message.ts';

/** An attempt of a tool took longer than its timeout; it may still have its effect. */
export class ToolTimeout extends Error {
  readonly code = 'HOLDFAST_TOOL_TIMEOUT';
  override readonly name = 'ToolTimeout';

  constructor(tool: BaseTool) {
    super(`Error in tool '${tool.name}': no result within ${tool.durable.timeout} ms (its timeout)`);
  }
}

/** An earlier attempt may have had its effect, and nobody knows. */
export class UnknownOutcome extends Error {
  readonly code = 'HOLDFAST_UNKNOWN_OUTCOME';
  readonly retryable = false;
  override readonly name = 'UnknownOutcome';

  constructor() {
    super('outcome unknown: this call may have run; check before repeating it');
    // It says nothing about the tool.
    this.stack = '';
  }
}

/** What was approved is not what would run now. Nothing has run. */
export class ToolChanged extends Error {
  readonly code = 'HOLDFAST_TOOL_CHANGED';
  readonly retryable = false;
  override readonly name = 'ToolChanged';

  constructor(how?: string) {
    super(how === undefined ? TOOL_CHANGED : `${TOOL_CHANGED}: ${how}`);
    this.stack = '';
  }
}

/** What the model is told of a call whose tool isn't the one any more that was approved. */
export const TOOL_CHANGED = 'tool changed since the approval';

/** A call has asked, and nobody has answered in time. */
export class NeverAnswered extends Error {
  readonly code = 'HOLDFAST_NEVER_ANSWERED';
  readonly retryable = false;
  override readonly name = 'NeverAnswered';

  constructor(kind: 'credential' | 'input') {
    super(`nobody has given the ${kind === 'input' ? 'answer' : 'credential'} that this call waited for`);
    this.stack = '';
  }
}

/** A call asks, and asks again. */
export class AsksTooOften extends Error {
  readonly code = 'HOLDFAST_ASKS_TOO_OFTEN';
  readonly retryable = false;
  override readonly name = 'AsksTooOften';

  constructor(tool: BaseTool) {
    super(`Error in tool '${tool.name}': a call asks people too often`);
    this.stack = '';
  }
}

/** What a call is settled with that no attempt lived to settle. */
export class UnsettledError extends Error {
  readonly code = 'HOLDFAST_UNSETTLED_CALL';
  readonly retryable = false;
  override readonly name = 'UnsettledError';

  constructor(message: string) {
    super(message);
    this.stack = '';
  }
}

/** What an earlier attempt has recorded of its own failure. */
export function recordedFailure(message: string): Error {
  const failure = new Error(message);
  // It would tell of this attempt.
  failure.stack = '';
  return failure;
}

export interface ToolFailure {
  message: string;
  /** For the operator. */
  stack: string | undefined;
  retryable: boolean;
}

const DEEPEST_CAUSE = 8;

/** What was thrown by a tool: it may be anything, with getters that throw. */
export function describeFailure(thrown: unknown): ToolFailure {
  const stack = read(read(thrown, 'cause'), 'stack') ?? read(thrown, 'stack');
  return {
    message: thrownMessage(thrown),
    stack: typeof stack === 'string' && stack !== '' ? stack : undefined,
    retryable: read(thrown, 'retryable') !== false,
  };
}

/** What was thrown as an error, for user code that is told of one. */
export function errorOf(thrown: unknown): Error {
  return isA(Error, thrown) ? thrown : new Error(thrownMessage(thrown), { cause: thrown });
}

/** The store's own failure, where a tool only passed it on: it is not the tool's. */
export function storeErrorIn(thrown: unknown): StoreError | undefined {
  let error = thrown;
  for (let depth = 0; depth < DEEPEST_CAUSE; depth++) {
    if (isA(StoreError, error)) return error;
    error = read(error, 'cause');
  }
  return undefined;
}

export function isToolTimeout(thrown: unknown): boolean {
  return isA(ToolTimeout, thrown);
}

/** `instanceof` throws for some values that can be thrown, a revoked proxy for one. */
function isA<T>(type: abstract new (...args: never[]) => T, value: unknown): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

function read(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[field];
  } catch {
    // A getter that throws hides its field and nothing more.
    return undefined;
  }
}
