import type { Voter } from '../contract/approvals.ts';
import type { MessagePolicy } from '../contract/messages.ts';
import type { RequestStatus } from '../contract/requests.ts';
import type { Content } from '../events/content.ts';
import type { AgentTurnStart, TurnResult } from './turn.ts';

/** Input of `holdfast.awaitTurn`. */
export interface AwaitTurnInput {
  v: number;
  /** As it would start a run of its own. */
  turn: AgentTurnStart & { messageId: string };
  policy?: MessagePolicy;
}

/** Input of `holdfast.readAnswer`. */
export interface ReadAnswerInput {
  v: number;
  app: string;
  userId: string;
  sessionId: string;
  invocationId: string;
  events: TurnResult['events'];
  /** Key of the reference in the place of a text, or of a call's response. */
  key?: string;
  /** The content of the last event is wanted, too. */
  content?: true;
}

/** Input of `holdfast.readDecision`. */
export interface ReadDecisionInput {
  v: number;
  app: string;
  userId: string;
  sessionId: string;
  requestId: string;
}

/** The end of a request; no status if nobody was asked. */
export interface ReadDecision {
  v: number;
  status?: RequestStatus;
  /** People and keys whose decisions count. */
  by: Voter[];
  reason?: string;
  payload?: unknown;
  args?: Record<string, unknown>;
}

/** An answer that the store keeps: at most 64 KiB of JSON together. A content that doesn't fit is left out first, then the value. */
export interface ReadAnswer {
  v: number;
  /** The value that the reference names. */
  value?: unknown;
  content?: Content;
}
