/** Something that the person at the terminal can mend; shown without a stack. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  /** @param exitCode 1, 2 where the command line itself is wrong, 130 where somebody interrupted. */
  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Errors of Holdfast say by themselves what to do; anything else is unexpected and shown whole. */
export function describeError(error: unknown): string {
  if (error instanceof CliError) return error.message;
  if (error instanceof Error && error.name === 'WorkflowFailedError') return describeFailedRun(error.cause);
  if (error instanceof Error && 'code' in error && String(error.code).startsWith('HOLDFAST_')) {
    return `${error.message}\n${sectionOf(String(error.code))}`;
  }
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

/** Where the documents tell more about an error's code. */
export function sectionOf(code: string): string {
  return `${code}: see docs/errors.md#${code.toLowerCase()}`;
}
