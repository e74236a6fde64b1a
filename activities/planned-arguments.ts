import type { ToolCallInput } from '../src/protocol/step.ts';
import type { StartedCall } from './call-retry.ts';

/** The model's, or what callbacks have made of them when the call was planned. */
export function plannedArguments(
  { args }: Pick<ToolCallInput, 'args'>,
  begun: Pick<StartedCall, 'args'>,
): Record<string, unknown> {
  return 'value' in args ? args.value : (begun.args ?? {});
}
