import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { HTTPException } from 'hono/http-exception';
import type { EndedRequest } from '../client/client-errors.ts';
import { isTemporalAway } from '../client/temporal-outage.ts';
import type { DecisionReceipt } from '../contract/approvals.ts';
import { HoldfastError } from '../contract/error.ts';
import { type ErrorCode, type ErrorStatus, entryOf, sectionOf } from '../contract/error-codes.ts';
import type { JobAnswer } from '../contract/jobs.ts';
import type { MessageReceipt } from '../protocol/message.ts';
import { messageOf } from '../protocol/message-of.ts';
import { RequestRefused } from './gateway-errors.ts';

/** The one shape of every error that the gateway answers with. */
export interface ErrorBody {
  error: {
    /** Stays the same from release to release. */
    code: string;
    message: string;
    /** Where the code is described. */
    docs?: string;
    /** Of a rejected message or a refused decision: the answer of the running turn. */
    receipt?: MessageReceipt | DecisionReceipt;
    /** How the request has ended that is not pending any more. */
    request?: EndedRequest;
    /** Of those that fit what was named. */
    requestIds?: readonly string[];
    /** Of progress after its job's end: the outcome of the job. */
    job?: JobAnswer;
    /** Why an authorization server gave no token. */
    problem?: string;
  };
}

export interface ErrorAnswer {
  status: ErrorStatus;
  body: ErrorBody;
  headers: Readonly<Record<string, string>>;
  /** The operator should hear of it. */
  unexpected: boolean;
}

const HEADERS_OF: Partial<Record<ErrorStatus, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  503: { 'retry-after': '1' },
};

/** The sender's view of an error: nothing of unexpected ones. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) {
    const { code, message, headers } = error;
    return { status: entryOf(code)?.status ?? 500, body: bodyOf(code, message), headers, unexpected: false };
  }
  if (error instanceof HTTPException && error.status < 500) return errorAnswer(bodyRefusal(error));
  const code = codeOf(error);
  const { status = 500, told } = entryOf(code) ?? {};
  const details = error instanceof HoldfastError && error.code === code ? error.details : undefined;
  const body = bodyOf(code, told ?? messageOf(error), details);
  return {
    status,
    body,
    headers: HEADERS_OF[status] ?? {},
    unexpected: status === 500 || status === 503,
  };
}

/** Of the library that reads bodies. */
function bodyRefusal({ status }: HTTPException): RequestRefused {
  if (status === 415) return new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
  return new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'body: expected JSON');
}

/** Of those that callers may be told. */
function codeOf(error: unknown): ErrorCode {
  if (error instanceof WorkflowFailedError) {
    if (error.cause instanceof CancelledFailure) return 'HOLDFAST_RUN_CANCELLED';
    return error.cause instanceof TerminatedFailure ? 'HOLDFAST_RUN_TERMINATED' : 'HOLDFAST_RUN_FAILED';
  }
  if (isTemporalAway(error)) return 'HOLDFAST_TEMPORAL_UNREACHABLE';
  const isTold = error instanceof HoldfastError && entryOf(error.code)?.status !== undefined;
  return isTold ? (error.code as ErrorCode) : 'HOLDFAST_GATEWAY_ERROR';
}

function bodyOf(code: string, message: string, details?: HoldfastError['details']): ErrorBody {
  return { error: { ...details, code, message, docs: sectionOf(code) } };
}
