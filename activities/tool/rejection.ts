import { REJECTED } from '../../src/tools/unpassed-gate.ts';
import type { CallOutcome } from './failed-call.ts';

/** What the model is told of a call that people have not let run. */
export function rejection(reason: string | undefined): Pick<CallOutcome, 'response' | 'failed'> {
  return { response: { error: REJECTED, ...(reason === undefined ? {} : { reason }) }, failed: true };
}
