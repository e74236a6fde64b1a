import { CALL_MODEL, DELETE_EXPIRED_SESSIONS, KEEP_MESSAGES, SETTLE_STEP } from '../src/protocol/names.ts';
import type { ExpiredSessions, RetainSessions } from '../src/protocol/retention.ts';
import type {
  CallModelInput,
  KeepMessagesInput,
  KeepMessagesResult,
  SettleStepInput,
  SettleStepResult,
  StepBehind,
  StepOutcome,
  ToolCallInput,
  ToolCallResult,
} from '../src/protocol/step.ts';
import { callModel } from './call-model.ts';
import { deleteExpiredSessions } from './delete-expired-sessions.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { keepMessages } from './keep-messages.ts';
import { runTool } from './run-tool.ts';
import { settleStep } from './settle-step.ts';

export interface HoldfastActivities {
  [CALL_MODEL]: (input: CallModelInput) => Promise<StepOutcome | StepBehind>;
  [SETTLE_STEP]: (input: SettleStepInput) => Promise<SettleStepResult>;
  [KEEP_MESSAGES]: (input: KeepMessagesInput) => Promise<KeepMessagesResult>;
  [DELETE_EXPIRED_SESSIONS]: (input: RetainSessions) => Promise<ExpiredSessions>;
  /** Every other activity type is a tool's name. */
  default: (input: ToolCallInput) => Promise<ToolCallResult>;
}

export function createActivities(dependencies: ActivityDependencies): HoldfastActivities {
  return {
    [CALL_MODEL]: callModel(dependencies),
    [SETTLE_STEP]: settleStep(dependencies),
    [KEEP_MESSAGES]: keepMessages(dependencies),
    [DELETE_EXPIRED_SESSIONS]: deleteExpiredSessions(dependencies),
    default: runTool(dependencies),
  };
}
