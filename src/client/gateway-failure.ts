import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import {
  CredentialKeyMissing,
  CredentialUnreadable,
  InvalidCredential,
  InvalidCredentialKeys,
} from '../credentials/credential-errors.ts';
import { JobTokenRefused, type TokenProblem } from '../jobs/job-token-refused.ts';
import type { DecisionReceipt } from '../protocol/gate.ts';
import type { MessageReceipt } from '../protocol/message.ts';
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
  type EndedRequest,
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
import { GatewayError } from './gateway-errors.ts';
import { InvalidJob, JobHasEnded, JobNotFound } from './jobs/job-errors.ts';
import type { JobAnswer } from './jobs/jobs.ts';

/** What the gateway tells of an error. */
export interface ToldError {
  code: string;
  message: string;
  receipt?: MessageReceipt | DecisionReceipt;
  /** How the request has ended that is not pending any more. */
  request?: EndedRequest;
  /** Of those that fit what was named. */
  requestIds?: readonly string[];
  /** Of progress that came after its job's end. */
  job?: JobAnswer;
}

type ErrorClass = new (message: string) => Error & { readonly code: string };

const CLASSES: readonly ErrorClass[] = [
  CredentialUnreadable,
  InvalidCredentialKeys,
  InvalidTurn,
  MessageTooLarge,
  NoAnswer,
  RequestNotFound,
  InvalidJob,
  JobNotFound,
  StoreNeeded,
  TurnRunning,
  UnknownCall,
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
];
const CLASS_OF = new Map(CLASSES.map((each) => [new each('').code, each]));

/** Errors that say more than a message. */
const TELLING = new Map<string, (told: ToldError) => Error>([
  [
    new MessageRejected('').code,
    ({ message, receipt }) => new MessageRejected(message, receipt as MessageReceipt | undefined),
  ],
  [
    new DecisionRefused('').code,
    ({ message, receipt }) => new DecisionRefused(message, receipt as DecisionReceipt | undefined),
  ],
  [new JobHasEnded('').code, ({ message, job }) => new JobHasEnded(message, job)],
  [new JobTokenRefused('malformed').code, ({ message }) => jobTokenRefused(message)],
  [new CredentialKeyMissing().code, () => new CredentialKeyMissing()],
  [new InvalidCredential('', '').code, ({ message }) => invalidCredential(message)],
  [new RequestNotPending('').code, ({ message, request }) => new RequestNotPending(message, request)],
  [new AmbiguousRequest('').code, ({ message, requestIds }) => new AmbiguousRequest(message, requestIds)],
]);

/** How a run ended that has no result, by the gateway's code of it. */
const RUN_ENDS: ReadonlyMap<string, (message: string) => Error> = new Map([
  ['HOLDFAST_RUN_CANCELLED', (message) => new CancelledFailure(message)],
  ['HOLDFAST_RUN_TERMINATED', (message) => new TerminatedFailure(message)],
  ['HOLDFAST_RUN_FAILED', (message) => ApplicationFailure.nonRetryable(message)],
]);

const TOKEN_PROBLEMS: readonly TokenProblem[] = ['unknown key', 'forged', 'expired', 'other job'];

function jobTokenRefused(message: string): JobTokenRefused {
  const told = TOKEN_PROBLEMS.find((problem) => new JobTokenRefused(problem).message === message);
  return new JobTokenRefused(told ?? 'malformed');
}

function invalidCredential(message: string): InvalidCredential {
  const at = message.indexOf(': ');
  return new InvalidCredential(message.slice(0, Math.max(0, at)), message.slice(at === -1 ? 0 : at + 2));
}

/** The error that the client behind the gateway has thrown, in its own class where there is one. */
export function errorOf(told: ToldError, status: number): Error {
  const { code, message } = told;
  const telling = TELLING.get(code);
  if (telling !== undefined) return telling(told);
  const known = CLASS_OF.get(code);
  if (known !== undefined) return new known(message);
  const cause = RUN_ENDS.get(code)?.(message);
  if (cause !== undefined) return new WorkflowFailedError(message, cause, RetryState.NON_RETRYABLE_FAILURE);
  return new GatewayError(message, { code, status });
}

/** What an error answer's body, or an error event, tells; undefined where it is none of the gateway's. */
export function toldError(body: unknown): ToldError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, receipt, request, requestIds, job } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  return {
    code,
    message,
    ...(isObject(receipt) ? { receipt: receipt as unknown as MessageReceipt | DecisionReceipt } : {}),
    ...(isObject(request) ? { request: request as unknown as EndedRequest } : {}),
    ...(isObject(job) ? { job: job as unknown as JobAnswer } : {}),
    ...(Array.isArray(requestIds) ? { requestIds: requestIds.map(String) } : {}),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
