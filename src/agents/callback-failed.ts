import { codedError } from '../contract/error.ts';
import { thrownMessage } from '../schema/thrown-message.ts';

export interface CallbackFailedParams {
  /** Name of the agent. */
  agent: string;
  /** As its configuration calls it: `beforeModelCallback[1]`, `request processor Redactor`. */
  callback: string;
  /** What went wrong, without what the callback was told. */
  problem: string;
  cause?: unknown;
  /** Whether another attempt may succeed. */
  retryable: boolean;
}

/** A callback or a processor of an agent threw, or returned what nothing can be made of. */
export class CallbackFailed extends codedError('HOLDFAST_CALLBACK_FAILED') {
  readonly agent: string;
  readonly callback: string;

  constructor({ agent, callback, problem, cause, retryable }: CallbackFailedParams) {
    super(`${callback} of agent "${agent}" failed: ${problem}`, { cause, retryable });
    this.agent = agent;
    this.callback = callback;
  }
}

/** What a callback threw; another attempt may succeed, unless it says no. */
export function callbackThrew(agent: string, callback: string, thrown: unknown): CallbackFailed {
  return new CallbackFailed({
    agent,
    callback,
    problem: thrownMessage(thrown),
    cause: thrown,
    retryable: !saysNoRetry(thrown),
  });
}

function saysNoRetry(thrown: unknown): boolean {
  try {
    return (thrown as { retryable?: unknown } | null | undefined)?.retryable === false;
  } catch {
    // A getter that throws says nothing.
    return false;
  }
}
