import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { StartedCall } from './call-retry.ts';

/** The model's, or what callbacks have made of them when the call was planned. */
export function plannedArguments(
  { args }: Pick<ToolCallInput, 'args'>,
  begun: Pick<StartedCall, 'args'>,
): Record<string, unknown> {
  // Whoever schedules the activity may say both: what was compared with the plan is the digest of the reference.
  return 'ref' in args ? (begun.args ?? {}) : args.value;
}

/** SHA-256 of the canonical arguments that an activity's input carries, or refers to. */
export function digestOfCarried(args: ToolCallInput['args']): string {
  return 'ref' in args ? args.ref.digest : digestOf(args.value);
}

/** As {@link digestOfCarried}, of the arguments as the plan in the store has them: no database keeps NUL and lone surrogates. */
export function digestOfStored(args: ToolCallInput['args']): string {
  return 'ref' in args ? args.ref.digest : digestOf(asStored(args.value));
}
