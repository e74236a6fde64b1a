import { isGrpcServiceError, WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { HTTPException } from 'hono/http-exception';
import type { EndedRequest } from '../client/client-errors.ts';
import type { JobHasEnded } from '../client/jobs/job-errors.ts';
import type { JobAnswer } from '../client/jobs/jobs.ts';
import type { DecisionReceipt } from '../protocol/gate.ts';
import type { MessageReceipt } from '../protocol/message.ts';
import { RequestRefused } from './gateway-errors.ts';

export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 500 | 501 | 503 | 504;

/** The one shape of every error that the gateway answers with. */
export interface ErrorBody {
  error: {
    /** Stays the same from release to release. */
    code: string;
    message: string;
    /** Where the code is described. */
    docs?: string;
    /** Of a message that was rejected, or a decision that was refused: what the turn that runs said to it. */
    receipt?: MessageReceipt | DecisionReceipt;
    /** How the request has ended that is not pending any more. */
    request?: EndedRequest;
    /** Of those that fit what was named. */
    requestIds?: readonly string[];
    /** Of progress that came after its job's end: what that came to. */
    job?: JobAnswer;
  };
}

export interface ErrorAnswer {
  status: ErrorStatus;
  body: ErrorBody;
  headers: Readonly<Record<string, string>>;
  /** The operator should hear of it. */
  unexpected: boolean;
}

interface Rule {
  code: string;
  status: ErrorStatus;
  /** In place of the error's own message, which may say what is the operator's affair only. */
  message?: string;
}

const RULES: readonly Rule[] = [
  { code: 'HOLDFAST_INVALID_TURN', status: 400 },
  { code: 'HOLDFAST_UNSTORABLE', status: 400 },
  { code: 'HOLDFAST_SESSION_NOT_FOUND', status: 404 },
  { code: 'HOLDFAST_NO_SUCH_PLACE', status: 404 },
  { code: 'HOLDFAST_UNKNOWN_CALL', status: 404 },
  { code: 'HOLDFAST_REQUEST_NOT_FOUND', status: 404 },
  { code: 'HOLDFAST_INVALID_CREDENTIAL', status: 400 },
  { code: 'HOLDFAST_INVALID_JOB', status: 400 },
  { code: 'HOLDFAST_JOB_TOKEN_REFUSED', status: 401 },
  { code: 'HOLDFAST_JOB_NOT_FOUND', status: 404 },
  { code: 'HOLDFAST_JOB_ENDED', status: 409 },
  { code: 'HOLDFAST_REQUEST_NOT_PENDING', status: 409 },
  { code: 'HOLDFAST_AMBIGUOUS_REQUEST', status: 409 },
  { code: 'HOLDFAST_DECISION_REFUSED', status: 409 },
  { code: 'HOLDFAST_SESSION_EXISTS', status: 409 },
  { code: 'HOLDFAST_SESSION_HAS_FORKS', status: 409 },
  { code: 'HOLDFAST_NOT_A_ROOT_SESSION', status: 409 },
  { code: 'HOLDFAST_TURN_RUNNING', status: 409 },
  { code: 'HOLDFAST_MESSAGE_REJECTED', status: 409 },
  { code: 'HOLDFAST_MESSAGE_CONFLICT', status: 409 },
  { code: 'HOLDFAST_FOLLOWER_TOO_SLOW', status: 409 },
  { code: 'HOLDFAST_MESSAGE_TOO_LARGE', status: 413 },
  { code: 'HOLDFAST_STORE_NEEDED', status: 501, message: 'this gateway has no store' },
  {
    code: 'HOLDFAST_CREDENTIAL_KEY_MISSING',
    status: 501,
    message:
      'this gateway has no key to encrypt credentials with: its operator sets HOLDFAST_CREDENTIAL_KEYS',
  },
  { code: 'HOLDFAST_STORE_UNAVAILABLE', status: 503, message: 'the store can’t be reached now: try again' },
  { code: 'HOLDFAST_STORE_BEHIND_HISTORY', status: 503, message: 'the store is behind: try again later' },
  {
    code: 'HOLDFAST_STORE_FAILED',
    status: 500,
    message: 'the store has failed: its operator’s log says how',
  },
  {
    code: 'HOLDFAST_ISSUER_UNREACHABLE',
    status: 503,
    message: 'whether the token is good can’t be found out now: try again',
  },
  { code: 'HOLDFAST_NO_ANSWER', status: 504 },
];
const RULE_OF = new Map(RULES.map((rule) => [rule.code, rule]));

/** A program may hold two copies of the package, whose classes are not each other's. */
const TELLING = new Set([
  'MessageRejected',
  'DecisionRefused',
  'RequestNotPending',
  'AmbiguousRequest',
  'JobHasEnded',
]);

const TEMPORAL_AWAY: Rule = {
  code: 'HOLDFAST_TEMPORAL_UNREACHABLE',
  status: 503,
  message: 'Temporal can’t be reached now: try again',
};
const RUN_CANCELLED: Rule = {
  code: 'HOLDFAST_RUN_CANCELLED',
  status: 409,
  message: 'the turn has no result: its run was cancelled',
};
const RUN_TERMINATED: Rule = {
  code: 'HOLDFAST_RUN_TERMINATED',
  status: 409,
  message: 'the turn has no result: its run was terminated',
};
const RUN_FAILED: Rule = {
  code: 'HOLDFAST_RUN_FAILED',
  status: 409,
  message: 'the turn has no result: its run has failed, and the Temporal UI shows how',
};
const UNEXPECTED: Rule = {
  code: 'HOLDFAST_GATEWAY_ERROR',
  status: 500,
  message: 'something went wrong: the gateway’s log has more under this request id',
};

const HEADERS_OF: Partial<Record<ErrorStatus, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  503: { 'retry-after': '1' },
};

/** gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE: what passes. */
const PASSING = new Set([1, 4, 8, 14]);

/** What the sender of a request learns of an error: nothing of what nobody has thought of. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) {
    const { code, message, status, headers } = error;
    return { status, body: bodyOf(code, message), headers, unexpected: false };
  }
  if (error instanceof HTTPException && error.status < 500) return errorAnswer(refusalOf(error));
  const rule = ruleOf(error);
  const message = rule.message ?? messageOf(error);
  const body = bodyOf(rule.code, message);
  Object.assign(body.error, toldBeside(error));
  return {
    status: rule.status,
    body,
    headers: HEADERS_OF[rule.status] ?? {},
    unexpected: rule.status === 500 || rule.status === 503,
  };
}

/** Of the library that reads bodies. */
function refusalOf({ status }: HTTPException): RequestRefused {
  if (status === 415) return new RequestRefused('unsupported type');
  return new RequestRefused('bad request', 'body: expected JSON');
}

function ruleOf(error: unknown): Rule {
  if (error instanceof WorkflowFailedError) {
    if (error.cause instanceof CancelledFailure) return RUN_CANCELLED;
    return error.cause instanceof TerminatedFailure ? RUN_TERMINATED : RUN_FAILED;
  }
  if (isTemporalAway(error)) return TEMPORAL_AWAY;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return (typeof code === 'string' ? RULE_OF.get(code) : undefined) ?? UNEXPECTED;
}

/** Temporal's client wraps what the connection says. */
function isTemporalAway(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => isGrpcServiceError(each) && PASSING.has(Number(each.code)));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What some errors tell beside their message. */
function toldBeside(error: unknown): Partial<ErrorBody['error']> {
  if (!(error instanceof Error) || !TELLING.has(error.name)) return {};
  const { receipt, request, requestIds } = error as Partial<ErrorBody['error']>;
  const { answer: job } = error as Partial<JobHasEnded>;
  return {
    ...(receipt === undefined ? {} : { receipt }),
    ...(request === undefined ? {} : { request }),
    ...(requestIds === undefined ? {} : { requestIds }),
    ...(job === undefined ? {} : { job }),
  };
}

function bodyOf(code: string, message: string): ErrorBody {
  return { error: { code, message, docs: `docs/errors.md#${code.toLowerCase()}` } };
}
