import { HoldfastError } from '../contract/error.ts';
import { type ErrorCode, entryOf } from '../contract/error-codes.ts';

/** Something that the person at the terminal can mend; shown without a stack. */
export class CliError extends HoldfastError {
  constructor(message: string, options?: ErrorOptions, code: CommandCode = 'HOLDFAST_COMMAND_FAILED') {
    super(code, message, options);
  }
}

/** The command line is wrong: nothing was done. */
export class UsageError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options, 'HOLDFAST_COMMAND_LINE');
  }
}

/** Somebody has interrupted the command. */
export class Interrupted extends CliError {
  constructor(message: string) {
    super(message, undefined, 'HOLDFAST_COMMAND_INTERRUPTED');
  }
}

type CommandCode = Extract<ErrorCode, `HOLDFAST_COMMAND_${string}`>;

/** The exit code of a command that has thrown. */
export function exitCodeFor(error: unknown): number {
  return (error instanceof HoldfastError ? entryOf(error.code)?.exit : undefined) ?? 1;
}

/** Errors of Holdfast say by themselves what to do; anything else is unexpected and shown whole. */
export function describeError(error: unknown): string {
  if (error instanceof CliError) return error.message;
  if (error instanceof Error && error.name === 'WorkflowFailedError') return describeFailedRun(error.cause);
  if (error instanceof HoldfastError) return withSection(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A run that ended otherwise than by its turn's end. */
function describeFailedRun(cause: unknown): string {
  if (!(cause instanceof Error)) return 'the turn failed';
  if (cause.name === 'CancelledFailure')
    return 'the turn was cancelled; its session goes on with the next message';
  if (cause.name === 'TerminatedFailure')
    return 'the turn was terminated; its session goes on with the next message';
  let reason: Error = cause;
  while (reason.cause instanceof Error) reason = reason.cause;
  const type = 'type' in reason && typeof reason.type === 'string' ? `${reason.type}: ` : '';
  return `the turn failed: ${type}${reason.message}`;
}

/** The message of an error, and where the documents tell more about it. */
export function withSection({ code, message, docs }: HoldfastError): string {
  return docs === undefined ? message : `${message}\n${code}: npx holdfast explain ${code}`;
}
