import type { TurnUsage } from '../../contract/sessions.ts';

export interface SessionUsage extends TurnUsage {
  /** Wall time of the session's ended invocations, milliseconds. */
  time: number;
}

/** Usage as the store's statements return it. */
export type UsageColumns = [
  modelCalls: number,
  promptTokens: number,
  outputTokens: number,
  totalTokens: number,
  cost: number | null,
  unknownCalls: number,
];

export type SessionUsageColumns = [...UsageColumns, time: number];

export function usageOf(columns: UsageColumns): TurnUsage {
  const [modelCalls, promptTokens, outputTokens, totalTokens, cost, unknownCalls] = columns;
  return {
    modelCalls,
    promptTokens,
    outputTokens,
    totalTokens,
    ...(cost === null ? {} : { cost }),
    ...(unknownCalls === 0 ? {} : { unknownCalls }),
  };
}

export function sessionUsageOf([...columns]: SessionUsageColumns): SessionUsage {
  const time = columns.pop() as number;
  return { ...usageOf(columns as unknown as UsageColumns), time };
}
