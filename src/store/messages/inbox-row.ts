import type { Content } from '../../events/content.ts';
import type { WaitingMessage } from '../../protocol/step.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** A message of the inbox, for operators and clients. */
export interface InboxRow extends WaitingMessage {
  /** `uploaded`: content put here before its message was sent. */
  status: 'uploaded' | 'waiting' | 'rejected';
  /** Why it was rejected. */
  reason?: string;
  createdAt: number;
}

export interface UploadMessage extends SessionNames {
  messageId: string;
  message: string | Content;
  stateDelta?: Record<string, unknown>;
}
