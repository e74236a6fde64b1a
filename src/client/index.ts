export type {
  AgentTurnStart,
  InvocationOutcome,
  RunningCall,
  TurnError,
  TurnResult,
  TurnRunConfig,
  TurnStatus,
  TurnUsage,
} from '../protocol/turn.ts';
export {
  HoldfastClient,
  type HoldfastClientOptions,
  SessionBusy,
  type TurnHandle,
} from './holdfast-client.ts';
