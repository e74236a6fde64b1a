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
  InvalidTurn,
  SessionBusy,
  type TurnHandle,
} from './holdfast-client.ts';
