import { reservedKeyText } from '../protocol/reserved-state.ts';
import { ToolError } from './tool-error.ts';

/** A key of the state was written that is reserved for Holdfast. */
export class ReservedStateKey extends ToolError {
  override readonly name = 'ReservedStateKey';

  constructor(key: string) {
    super(`state.set: ${reservedKeyText(key)}`, { code: 'HOLDFAST_RESERVED_STATE_KEY', retryable: false });
  }
}
