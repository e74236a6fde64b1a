import { isToolError, ToolError } from './tool-error.ts';

/** Something asked a person, which this release cannot wait for. Nothing has run. */
export class UnsupportedGate extends ToolError {
  override readonly name = 'UnsupportedGate';

  /** @param what asked: `context.requestConfirmation`. */
  constructor(what: string) {
    super(`${what}: this release of Holdfast has no gates, they come with a later one; nothing was run`, {
      code: 'HOLDFAST_GATE_UNSUPPORTED',
      retryable: false,
    });
  }
}

/** Whether a tool has failed because it had to ask a person. */
export function isUnsupportedGate(error: unknown): boolean {
  return isToolError(error) && error.code === 'HOLDFAST_GATE_UNSUPPORTED';
}
