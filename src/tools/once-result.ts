import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { ToolError } from './tool-error.ts';

/** The result of an action of `Context.once`, as JSON carries it. */
export function onceResult(key: string, value: unknown): unknown {
  try {
    return toJsonValue(value);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    // The action has happened: another attempt would repeat it.
    throw new ToolError(`once(${JSON.stringify(key)}): the result can't be recorded: ${error.message}`, {
      code: 'HOLDFAST_ONCE_RESULT',
      retryable: false,
      cause: error,
    });
  }
}
