import { isObject } from '../contract/check.ts';
import { HoldfastError } from '../contract/error.ts';
import { entryOf } from '../contract/error-codes.ts';
import {
  AmbiguousRequest,
  DecisionRefused,
  GatewayError,
  MessageRejected,
  RequestNotPending,
} from './client-errors.ts';

/** The gateway's description of an error. */
export interface ToldError {
  code: string;
  message: string;
  /** Further fields of the error: `receipt`, `request`, `requestIds`, `job`. */
  details: Readonly<Record<string, unknown>>;
}

/** Classes with more than a code. Any other error is one of its class by its code. */
const CLASSES = [AmbiguousRequest, DecisionRefused, MessageRejected, RequestNotPending];

/** Errors of the gateway's process alone, and the end of a follower, which tells no place to go on after. */
const OTHERS = ['FollowerTooSlow', 'GatewayError', 'IssuerUnreachable', 'WebhookNotReady'];

/** Whether `HoldfastClient` throws it, too. */
function isOfClients(code: string): boolean {
  const { name, status } = entryOf(code) ?? {};
  return name !== undefined && status !== undefined && !OTHERS.includes(name);
}

type Common = typeof import('@temporalio/common');

/** How a run ended that has no result, by the gateway's code of it. */
const RUN_ENDS: ReadonlyMap<string, (common: Common, message: string) => Error> = new Map([
  ['HOLDFAST_RUN_CANCELLED', ({ CancelledFailure }, message) => new CancelledFailure(message)],
  ['HOLDFAST_RUN_TERMINATED', ({ TerminatedFailure }, message) => new TerminatedFailure(message)],
  ['HOLDFAST_RUN_FAILED', ({ ApplicationFailure }, message) => ApplicationFailure.nonRetryable(message)],
]);

/** The error that the client of the gateway has thrown, in its own class where there is one. */
export async function errorOf({ code, message, details }: ToldError, status: number): Promise<Error> {
  const known = CLASSES.find((each) => each.code === code);
  if (known !== undefined) return new known(message, { details });
  if (isOfClients(code)) return new HoldfastError(code, message, { details });
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
