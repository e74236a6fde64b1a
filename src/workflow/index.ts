export type { MessagePolicy } from '../contract/messages.ts';
export type { TurnUsage } from '../contract/sessions.ts';
export type { Content, Part } from '../events/content.ts';
export type { TurnRunConfig } from '../protocol/run-terms.ts';
export type { Reference } from '../protocol/sizes.ts';
export type { TurnError } from '../protocol/turn.ts';
export type { AgentAnswer } from './agent-answer.ts';
export {
  AgentTurnFailed,
  AgentTurnInterrupted,
  AgentTurnRejected,
  type EndedTurn,
} from './agent-turn-errors.ts';
export type { AgentTurn } from './checked-turn.ts';
export { type Confirmation, confirm, handleConfirm, type Question } from './confirm.ts';
export { type EndedJob, JobFailed, job, type ToolJob } from './job.ts';
export { runAgent } from './run-agent.ts';
