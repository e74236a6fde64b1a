import type { Carried } from '../../src/protocol/carried.ts';
import type { JobEnded } from '../../src/protocol/job.ts';
import type { ToolCallResult } from '../../src/protocol/step.ts';

/** What a call came to: settled in the store, or an error that is to be. */
export type RanCall =
  | {
      skipSummarization: boolean;
      transferToAgent?: string;
      escalate?: true;
      response?: Carried<Record<string, unknown>>;
    }
  | { error: string };

/** What the turn has to act on of what a call was settled with. */
export function ranOf(result: ToolCallResult | JobEnded): RanCall {
  if (!('response' in result)) return { skipSummarization: false };
  const { response, skipSummarization = false, transferToAgent, escalate } = result;
  return {
    response,
    skipSummarization,
    ...(transferToAgent === undefined ? {} : { transferToAgent }),
    ...(escalate === undefined ? {} : { escalate }),
  };
}
