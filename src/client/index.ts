export {
  CredentialKeyMissing,
  CredentialUnreadable,
  InvalidCredential,
  InvalidCredentialKeys,
} from '../credentials/credential-errors.ts';
export type { GivenCredentialKeys } from '../credentials/credential-keys.ts';
export { type AuthCredential, AuthCredentialTypes } from '../events/auth-credential.ts';
export { JobTokenRefused } from '../jobs/job-token-refused.ts';
export type { DecisionReceipt, RequestStatus } from '../protocol/gate.ts';
export type { JobProgress, JobReceipt, JobStatus, WaitingJob } from '../protocol/job.ts';
export type {
  CancelReceipt,
  InterruptReceipt,
  MessagePolicy,
  MessageReceipt,
} from '../protocol/message.ts';
export type {
  AgentTurnStart,
  InvocationOutcome,
  OtherInvocation,
  RunningCall,
  TurnError,
  TurnResult,
  TurnRunConfig,
  TurnStatus,
  TurnUsage,
} from '../protocol/turn.ts';
export type { AuditRow } from '../store/sessions/session-store.ts';
export type {
  ApprovalRow,
  AuditedRequest,
  JobRow,
  ListApprovals,
  ListJobs,
  StoredCredential,
} from '../store/store.ts';
export type {
  Approvals,
  ConfirmOptions,
  ProvideCredentialOptions,
  ProvideInputOptions,
  WhichAudit,
  WhichRequest,
} from './approvals.ts';
export type { HoldfastClientOptions, TemporalOptions } from './client-context.ts';
export {
  AmbiguousRequest,
  DecisionRefused,
  type EndedRequest,
  FollowerTooSlow,
  InvalidTurn,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  RequestNotFound,
  RequestNotPending,
  StoreNeeded,
  TurnRunning,
  UnknownCall,
} from './client-errors.ts';
export type { ClientSessions } from './client-sessions.ts';
export type { Credentials, PutCredential } from './credentials.ts';
export type { DeletedExpired, DeletedSessions, DeleteSessionOptions } from './delete-session.ts';
export type { Disposition } from './deliver.ts';
export type { FollowOptions } from './follow-events.ts';
export { GatewayClient, type GatewayClientOptions } from './gateway-client.ts';
export { GatewayError, GatewayUnreachable } from './gateway-errors.ts';
export type { HoldfastApi, SentMessage } from './holdfast-api.ts';
export { HoldfastClient } from './holdfast-client.ts';
export { InvalidJob, JobNotFound } from './job-errors.ts';
export type {
  CompleteJob,
  FailJob,
  JobAnswer,
  JobSpeaker,
  Jobs,
  OwnJob,
  ProgressJob,
} from './jobs.ts';
export type { Receipt } from './message-receipt.ts';
export type { OutgoingMessage } from './outgoing-turn.ts';
export type { AnswerOptions, CallToCancel, Confirmed, InterruptOptions, Unconfirmed } from './steering.ts';
export type { ChildMark, FollowedEvent, LiveItem, StreamItem } from './stream-item.ts';
export type { TurnHandle } from './turn-handle.ts';
