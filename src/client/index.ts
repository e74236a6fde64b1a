export {
  ArtifactCorrupt,
  ArtifactElsewhere,
  ArtifactTooLarge,
  BucketFailed,
  InvalidArtifactName,
  NoSuchArtifact,
  UnknownBucket,
} from '../artifacts/artifact-errors.ts';
export type {
  ConfirmOptions,
  DecisionReceipt,
  ListApprovals,
  ProvideCredentialOptions,
  ProvideInputOptions,
} from '../contract/approvals.ts';
export type { ArtifactRow, ListArtifacts, ListedArtifacts, NamedArtifact } from '../contract/artifacts.ts';
export type { AuditRow, AuditVerification } from '../contract/audit.ts';
export type { Corpus, CorpusDocument, FoundPassage, Passage, PutDocument } from '../contract/corpora.ts';
export type { PutCredential, StoredCredential } from '../contract/credentials.ts';
export { HoldfastError } from '../contract/error.ts';
export type { ErrorCode } from '../contract/error-codes.ts';
export type {
  CompleteJob,
  FailJob,
  JobAnswer,
  JobProgress,
  JobReceipt,
  JobRow,
  JobSpeaker,
  JobStatus,
  ListJobs,
  OwnJob,
  ProgressJob,
} from '../contract/jobs.ts';
export type { AddMemory, ListedMemories, ListMemories, Memory } from '../contract/memories.ts';
export type { MessagePolicy } from '../contract/messages.ts';
export type { ApprovalRow, RequestStatus } from '../contract/requests.ts';
export type { DeletedSessions, DeleteSessionOptions, TurnUsage } from '../contract/sessions.ts';
export type { CallToCancel, InterruptOptions, ListTurns, TurnRow } from '../contract/turns.ts';
export {
  CredentialKeyMissing,
  CredentialUnreadable,
  InvalidCredential,
  InvalidCredentialKeys,
} from '../credentials/credential-errors.ts';
export type { GivenCredentialKeys } from '../credentials/credential-keys.ts';
export { type AuthCredential, AuthCredentialTypes } from '../events/auth-credential.ts';
export { JobTokenRefused } from '../jobs/job-token-refused.ts';
export type { WaitingJob } from '../protocol/job.ts';
export type {
  CancelReceipt,
  InterruptReceipt,
  MessageReceipt,
} from '../protocol/message.ts';
export type { TurnRunConfig } from '../protocol/run-terms.ts';
export type {
  AgentTurnStart,
  InvocationOutcome,
  OtherInvocation,
  RunningCall,
  TurnError,
  TurnResult,
  TurnStatus,
} from '../protocol/turn.ts';
export type { Approvals, WhichAudit } from './approvals/approvals.ts';
export type { WhichRequest } from './approvals/find-request.ts';
export type { ArtifactFile, Artifacts, GetArtifact, PutArtifact } from './artifacts/artifacts.ts';
export type { HoldfastClientOptions, TemporalOptions } from './client-context.ts';
export {
  AmbiguousRequest,
  DecisionRefused,
  type EndedRequest,
  FollowerTooSlow,
  GatewayError,
  GatewayUnreachable,
  InvalidJob,
  InvalidTurn,
  JobNotFound,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  RequestNotFound,
  RequestNotPending,
  StoreNeeded,
  TemporalUnreachable,
  TurnRunning,
  UnknownCall,
} from './client-errors.ts';
export type { Corpora } from './corpora/corpora.ts';
export type { LoadCorpus, LoadedCorpus, LoadedDocument } from './corpora/load-folder.ts';
export type { Credentials } from './credentials/credentials.ts';
export { GatewayClient, type GatewayClientOptions } from './gateway-client.ts';
export type { HoldfastApi, SentMessage } from './holdfast-api.ts';
export { HoldfastClient } from './holdfast-client.ts';
export type { Jobs } from './jobs/jobs.ts';
export type { Memories } from './memories/memories.ts';
export type { Disposition } from './messages/deliver.ts';
export type { Receipt } from './messages/message-receipt.ts';
export type { OutgoingMessage } from './messages/outgoing-message.ts';
export type { ClientSessions } from './sessions/client-sessions.ts';
export type { DeletedExpired } from './sessions/delete-session.ts';
export type { FollowOptions } from './stream/follow-events.ts';
export type { ChildMark, FollowedEvent, LiveItem, StreamItem } from './stream/stream-item.ts';
export type {
  AnswerOptions,
  Confirmed,
  Unconfirmed,
} from './turns/steering.ts';
export type { TurnHandle } from './turns/turn-handle.ts';
