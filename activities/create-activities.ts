import { CALL_MODEL, SETTLE_STEP } from '../src/protocol/names.ts';
import type {
  CallModelInput,
  SettleStepInput,
  SettleStepResult,
  StepOutcome,
  ToolCallInput,
  ToolCallResult,
} from '../src/protocol/step.ts';
import { callModel } from './call-model.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { runTool } from './run-tool.ts';
import { settleStep } from './settle-step.ts';

export interface HoldfastActivities {
  [CALL_MODEL]: (input: CallModelInput) => Promise<StepOutcome>;
  [SETTLE_STEP]: (input: SettleStepInput) => Promise<SettleStepResult>;
  /** Every other activity type is a tool's name. */
  default: (input: ToolCallInput) => Promise<ToolCallResult>;
}

export function createActivities(dependencies: ActivityDependencies): HoldfastActivities {
  return {
    [CALL_MODEL]: callModel(dependencies),
    [SETTLE_STEP]: settleStep(dependencies),
    default: runTool(dependencies),
  };
}
