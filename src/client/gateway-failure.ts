import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import type { HoldfastError, HoldfastErrorOptions } from '../contract/error.ts';
import {
  CredentialKeyMissing,
  CredentialUnreadable,
  InvalidCredential,
  InvalidCredentialKeys,
} from '../credentials/credential-errors.ts';
import { JobTokenRefused } from '../jobs/job-token-refused.ts';
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
  TurnRunning,
  UnknownCall,
} from './client-errors.ts';

/** What the gateway tells of an error. */
export interface ToldError {
  code: string;
  message: string;
  /** What it tells beside: `receipt`, `request`, `requestIds`, `job`. */
  details: Readonly<Record<string, unknown>>;
}

interface ToldClass {
  readonly code: string;
  new (message: string, options?: HoldfastErrorOptions): HoldfastError;
}

/** What `HoldfastClient` throws of what the gateway tells: `GatewayClient` throws the same. */
const CLASSES: readonly ToldClass[] = [
  AmbiguousRequest,
  CredentialKeyMissing,
  CredentialUnreadable,
  DecisionRefused,
  InvalidCredential,
  InvalidCredentialKeys,
  InvalidJob,
  InvalidTurn,
  JobHasEnded,
  JobNotFound,
  JobTokenRefused,
  MessageConflict,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  NoSuchPlace,
  NotARootSession,
  RequestNotFound,
  RequestNotPending,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreNeeded,
  StoreUnavailable,
  TurnRunning,
  UnknownCall,
  Unstorable,
];
const CLASS_OF: ReadonlyMap<string, ToldClass> = new Map(CLASSES.map((each) => [each.code, each]));

/** How a run ended that has no result, by the gateway's code of it. */
const RUN_ENDS: ReadonlyMap<string, (message: string) => Error> = new Map([
  ['HOLDFAST_RUN_CANCELLED', (message) => new CancelledFailure(message)],
  ['HOLDFAST_RUN_TERMINATED', (message) => new TerminatedFailure(message)],
  ['HOLDFAST_RUN_FAILED', (message) => ApplicationFailure.nonRetryable(message)],
]);

/** The error that the client of the gateway has thrown, in its own class where there is one. */
export function errorOf({ code, message, details }: ToldError, status: number): Error {
  const known = CLASS_OF.get(code);
  if (known !== undefined) return new known(message, { details });
  const cause = RUN_ENDS.get(code)?.(message);
  if (cause !== undefined) return new WorkflowFailedError(message, cause, RetryState.NON_RETRYABLE_FAILURE);
  return new GatewayError(code, message, status);
}

/** What an error answer's body, or an error event, tells; undefined where it is none of the gateway's. */
export function toldError(body: unknown): ToldError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, receipt, request, requestIds, job } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const details = {
    ...(isObject(receipt) ? { receipt } : {}),
    ...(isObject(request) ? { request } : {}),
    ...(isObject(job) ? { job } : {}),
    ...(Array.isArray(requestIds) ? { requestIds: requestIds.map(String) } : {}),
  };
  return { code, message, details };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
