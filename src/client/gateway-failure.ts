import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, RetryState, TerminatedFailure } from '@temporalio/common';
import type { MessageReceipt } from '../protocol/message.ts';
import {
  MessageConflict,
  NoSuchPlace,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreUnavailable,
  Unstorable,
} from '../store/store-errors.ts';
import {
  InvalidTurn,
  MessageRejected,
  MessageTooLarge,
  NoAnswer,
  StoreNeeded,
  TurnRunning,
  UnknownCall,
} from './client-errors.ts';
import { GatewayError } from './gateway-errors.ts';

/** What the gateway tells of an error. */
export interface ToldError {
  code: string;
  message: string;
  receipt?: MessageReceipt;
}

type ErrorClass = new (message: string) => Error & { readonly code: string };

const CLASSES: readonly ErrorClass[] = [
  InvalidTurn,
  MessageTooLarge,
  NoAnswer,
  StoreNeeded,
  TurnRunning,
  UnknownCall,
  MessageConflict,
  NoSuchPlace,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreUnavailable,
  Unstorable,
];
const CLASS_OF = new Map(CLASSES.map((each) => [new each('').code, each]));
const REJECTED = new MessageRejected('').code;

/** How a run ended that has no result, by the gateway's code of it. */
const RUN_ENDS: ReadonlyMap<string, (message: string) => Error> = new Map([
  ['HOLDFAST_RUN_CANCELLED', (message) => new CancelledFailure(message)],
  ['HOLDFAST_RUN_TERMINATED', (message) => new TerminatedFailure(message)],
  ['HOLDFAST_RUN_FAILED', (message) => ApplicationFailure.nonRetryable(message)],
]);

/** The error that the client behind the gateway has thrown, in its own class where there is one. */
export function errorOf(told: ToldError, status: number): Error {
  const { code, message } = told;
  if (code === REJECTED) return new MessageRejected(message, told.receipt);
  const known = CLASS_OF.get(code);
  if (known !== undefined) return new known(message);
  const cause = RUN_ENDS.get(code)?.(message);
  if (cause !== undefined) return new WorkflowFailedError(message, cause, RetryState.NON_RETRYABLE_FAILURE);
  return new GatewayError(message, { code, status });
}

/** What an error answer's body, or an error event, tells; undefined where it is none of the gateway's. */
export function toldError(body: unknown): ToldError | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { code, message, receipt } = body as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  const isReceipt = typeof receipt === 'object' && receipt !== null;
  return { code, message, ...(isReceipt ? { receipt: receipt as MessageReceipt } : {}) };
}
