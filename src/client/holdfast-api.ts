import type { CallToCancel, InterruptOptions, ListTurns, TurnRow } from '../contract/turns.ts';
import type { CancelReceipt, InterruptReceipt } from '../protocol/message.ts';
import type { TurnStatus } from '../protocol/turn.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { Artifacts } from './artifacts/artifacts.ts';
import type { Credentials } from './credentials/credentials.ts';
import type { Jobs } from './jobs/jobs.ts';
import type { Memories } from './memories/memories.ts';
import type { OutgoingMessage } from './messages/outgoing-message.ts';
import type { ClientSessions } from './sessions/client-sessions.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import type { AnswerOptions, Confirmed } from './turns/steering.ts';
import type { TurnHandle } from './turns/turn-handle.ts';

/** A message that was sent before, by whomever. */
export interface SentMessage extends SessionNames {
  messageId: string;
}

/**
 * Turns and sessions, whichever way they are reached: `HoldfastClient` speaks to Temporal and the store, `GatewayClient` to
 * the HTTP gateway.
 */
export interface HoldfastApi {
  readonly sessions: Pick<ClientSessions, 'create' | 'get' | 'list' | 'delete' | 'fork' | 'rewind' | 'retry'>;
  /** Requests to people: listed, answered, proved. */
  readonly approvals: Approvals;
  /** Secrets of users, for tools. */
  readonly credentials: Credentials;
  /** Jobs of long-running calls: listed, ended, told of. */
  readonly jobs: Jobs;
  /** Files that agents and users save: listed, read, saved, deleted. */
  readonly artifacts: Artifacts;
  /** Memories of users: searched, added, deleted. */
  readonly memories: Memories;
  sendMessage(message: OutgoingMessage): Promise<TurnHandle>;
  /** Undefined where nobody has heard of the message. Sends nothing. */
  turn(message: SentMessage): Promise<TurnHandle | undefined>;
  /** By their state, the newest first. */
  turns(list?: ListTurns): Promise<TurnRow[]>;
  follow(names: SessionNames, options?: FollowOptions): AsyncIterable<FollowedEvent>;
  stream(names: SessionNames, options?: FollowOptions): AsyncIterable<StreamItem>;
  cancelCall(names: SessionNames, call: CallToCancel): Promise<Confirmed<CancelReceipt>>;
  interrupt(names: SessionNames, options?: InterruptOptions): Promise<Confirmed<InterruptReceipt>>;
  status(names: SessionNames, options?: AnswerOptions): Promise<TurnStatus | undefined>;
}
