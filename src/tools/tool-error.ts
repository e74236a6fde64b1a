import { setImmediate } from 'node:timers/promises';
import { HoldfastError } from '../contract/error.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { CompiledSchema } from '../schema/compiled-schema.ts';

const TOOL_ERROR = Symbol.for('holdfast.toolError');

export interface ToolErrorOptions extends ErrorOptions {
  /** Stable name of what went wrong. Defaults to `TOOL_ERROR`. */
  code?: string;
  /** Whether another attempt may succeed. Defaults to true. */
  retryable?: boolean;
  /** Milliseconds before which another attempt makes no sense. Defaults to the tool's own `retry`. */
  retryAfter?: number;
}

/**
 * A tool's failure. The model is told its message; anything else that a tool throws is treated alike, with
 * `retryable: true`.
 *
 * @example throw new ToolError('the card was declined', { code: 'DECLINED', retryable: false });
 */
export class ToolError extends HoldfastError {
  readonly [TOOL_ERROR] = true;
  override readonly name: string = 'ToolError';
  declare readonly retryAfter?: number;

  constructor(
    message: string,
    { code = 'TOOL_ERROR', retryable = true, retryAfter, ...options }: ToolErrorOptions = {},
  ) {
    super(code, message, { ...options, retryable });
    if (retryAfter !== undefined) this.retryAfter = retryAfter;
  }
}

/** Whether `value` is a {@link ToolError}, of this or of another copy of the package. */
export function isToolError(value: unknown): value is ToolError {
  try {
    return typeof value === 'object' && value !== null && TOOL_ERROR in value && value[TOOL_ERROR] === true;
  } catch {
    // Anything may be thrown, a proxy that answers no question too.
    return false;
  }
}

/** The model's arguments don't match the tool's parameters. Another attempt would get the same ones. */
export class InvalidArgumentsError extends ToolError {
  override readonly name = 'InvalidArgumentsError';

  constructor(message: string) {
    super(message, { code: 'HOLDFAST_INVALID_ARGUMENTS', retryable: false });
  }
}

/**
 * The arguments of a tool that somebody else defines. Models send null for a parameter that they leave out: where the schema takes no null, it
 * counts as left out.
 *
 * @throws InvalidArgumentsError
 */
export async function outsideArguments(
  tool: string,
  { validate }: CompiledSchema,
  args: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  // A model may ask for many calls at once, each with as much work as is taken.
  await setImmediate();
  let validation = await validate(args);
  if (!validation.ok && Object.values(args).includes(null)) {
    const given = Object.entries(args).filter(([, value]) => value !== null);
    validation = await validate(Object.fromEntries(given));
  }
  if (validation.ok && isRecord(validation.value)) return validation.value;
  const problem = validation.ok ? 'expected object' : validation.message;
  throw new InvalidArgumentsError(`Error in tool '${tool}': invalid arguments: ${problem}`);
}

/** A tool's result has no JSON form or doesn't match its output schema. Another attempt would repeat the effect. */
export class InvalidResultError extends ToolError {
  override readonly name = 'InvalidResultError';

  constructor(message: string, options?: ErrorOptions) {
    super(message, { code: 'HOLDFAST_INVALID_RESULT', retryable: false, ...options });
  }
}

/** A tool threw. `cause` is what it threw, `retryable` and `code` are those of a {@link ToolError}. */
export class ToolExecutionError extends ToolError {
  override readonly name = 'ToolExecutionError';

  constructor(message: string, cause: unknown) {
    const { code = 'HOLDFAST_TOOL_FAILED', retryable = true, retryAfter } = isToolError(cause) ? cause : {};
    super(message, { code, retryable, cause, ...defined({ retryAfter }) });
  }
}
