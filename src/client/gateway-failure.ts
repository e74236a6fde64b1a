import {
  ArtifactCorrupt,
  ArtifactElsewhere,
  ArtifactTooLarge,
  BucketFailed,
  InvalidArtifact,
  InvalidArtifactName,
  NoSuchArtifact,
  UnknownBucket,
} from '../artifacts/artifact-errors.ts';
import { isObject } from '../contract/check.ts';
import type { HoldfastError, HoldfastErrorOptions } from '../contract/error.ts';
import { CredentialKeyMissing, InvalidCredential } from '../credentials/credential-errors.ts';
import { JobTokenRefused } from '../jobs/job-token-refused.ts';
import { OAuthFailed } from '../oauth/oauth-failed.ts';
import {
  MessageConflict,
  NoSuchPlace,
  NotARootSession,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreUnavailable,
  Unstorable,
} from '../store/store-errors.ts';
import {
  AmbiguousRequest,
  DecisionRefused,
  GatewayError,
  InvalidJob,
  InvalidTurn,
  JobHasEnded,
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

/** The gateway's description of an error. */
export interface ToldError {
  code: string;
  message: string;
  /** Further fields of the error: `receipt`, `request`, `requestIds`, `job`, `problem`. */
  details: Readonly<Record<string, unknown>>;
}

interface ToldClass {
  readonly code: string;
  new (message: string, options?: HoldfastErrorOptions): HoldfastError;
}

/** Errors of `HoldfastClient` that `GatewayClient` throws, too. */
const CLASSES: readonly ToldClass[] = [
  AmbiguousRequest,
  ArtifactCorrupt,
  ArtifactElsewhere,
  ArtifactTooLarge,
  BucketFailed,
  CredentialKeyMissing,
  DecisionRefused,
  InvalidArtifact,
  InvalidArtifactName,
  InvalidCredential,
  InvalidJob,
  InvalidTurn,
  JobHasEnded,
  JobNotFound,
  JobTokenRefused,
  MessageConflict,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  NoSuchArtifact,
  NoSuchPlace,
  NotARootSession,
  OAuthFailed,
  RequestNotFound,
  RequestNotPending,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreNeeded,
  StoreUnavailable,
  TemporalUnreachable,
  TurnRunning,
  UnknownBucket,
  UnknownCall,
  Unstorable,
];
const CLASS_OF: ReadonlyMap<string, ToldClass> = new Map(CLASSES.map((each) => [each.code, each]));

type Common = typeof import('@temporalio/common');

/** How a run ended that has no result, by the gateway's code of it. */
const RUN_ENDS: ReadonlyMap<string, (common: Common, message: string) => Error> = new Map([
  ['HOLDFAST_RUN_CANCELLED', ({ CancelledFailure }, message) => new CancelledFailure(message)],
  ['HOLDFAST_RUN_TERMINATED', ({ TerminatedFailure }, message) => new TerminatedFailure(message)],
  ['HOLDFAST_RUN_FAILED', ({ ApplicationFailure }, message) => ApplicationFailure.nonRetryable(message)],
]);

/** The error that the client of the gateway has thrown, in its own class where there is one. */
export async function errorOf({ code, message, details }: ToldError, status: number): Promise<Error> {
  const known = CLASS_OF.get(code);
  if (known !== undefined) return new known(message, { details });
  const causeOf = RUN_ENDS.get(code);
  if (causeOf === undefined) return new GatewayError(code, message, status);
  // Few programs that speak to a gateway ever need Temporal's client: it is loaded with the first such end.
  const [{ WorkflowFailedError }, common] = await Promise.all([
    import('@temporalio/client'),
    import('@temporalio/common'),
  ]);
  const { NON_RETRYABLE_FAILURE } = common.RetryState;
  return new WorkflowFailedError(message, causeOf(common, message), NON_RETRYABLE_FAILURE);
}

/** The error in an answer's body, or in an error event; undefined for a text that isn't the gateway's. */
export function toldError(body: unknown): ToldError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, receipt, request, requestIds, job, problem } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const details = {
    ...(isObject(receipt) ? { receipt } : {}),
    ...(isObject(request) ? { request } : {}),
    ...(isObject(job) ? { job } : {}),
    ...(typeof problem === 'string' ? { problem } : {}),
    ...(Array.isArray(requestIds) ? { requestIds: requestIds.map(String) } : {}),
  };
  return { code, message, details };
}
