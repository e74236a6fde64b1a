import { CancellationScope, getExternalWorkflowHandle } from '@temporalio/workflow';
import type { DecisionReceipt, RequestName } from '../../src/contract/approvals.ts';
import { MOST_GIVEN_BYTES } from '../../src/contract/decision-limits.ts';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import { tooDeepText } from '../../src/contract/message-limits.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { callKeyOfRequest } from '../../src/protocol/gate.ts';
import {
  childWorkflowIdOf,
  isRunKey,
  OWN_CALL_ID_PREFIX,
  runKeyOfCallKey,
} from '../../src/protocol/identity.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import { listed } from '../approvals/request-book.ts';
import type { Requests } from '../approvals/requests.ts';
import { failure } from '../arguments.ts';
import type { Children } from './children.ts';

/** The turn that gets what is meant for others of its tree. */
export interface Forwarder {
  rootWorkflowId: string;
  children: Pick<Children, 'running' | 'waits'>;
  requests: Pick<Requests, 'knowledgeOf'>;
  /** Run key of the workflow's own current run. */
  ownRunKey(): string | undefined;
}

/** Names a call that is to be cancelled or has a job. */
export interface CallName {
  callKey?: unknown;
  callId?: unknown;
}

/** Beside what a decision holds, names and words. */
const MOST_BYTES = MOST_GIVEN_BYTES + PAYLOAD_LIMIT;

function problemOf(given: unknown): string | undefined {
  try {
    const bytes = jsonBytes(given);
    if (bytes <= MOST_BYTES) return undefined;
    return `${bytes} bytes of JSON, at most ${MOST_BYTES} are sent on: leave out what is unknown`;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `${tooDeepText()}: send flatter content`;
  }
}

/** Gives what is meant for another run of the tree to the workflow of that run, as it came. */
export class Forwarding {
  readonly #forwarder: Forwarder;
  #underWay = 0;

  constructor(forwarder: Forwarder) {
    this.#forwarder = forwarder;
  }

  /** No forwarded order is under way. */
  get finished(): boolean {
    return this.#underWay === 0;
  }

  /**
   * Run key of the agent that has asked; undefined where this turn is to look at the decision itself. One that names no request is for
   * those that are known to wait.
   *
   * @throws ApplicationFailure of type `AmbiguousRequest` where no request is named, and several agents wait.
   */
  askedBy(name: RequestName): string | undefined {
    const { children, requests } = this.#forwarder;
    const { requestId, callKey, callId } = name;
    if (children.running.length === 0) return undefined;
    const known = requests.knowledgeOf(name);
    if (requestId !== undefined) {
      return known === 'nothing' ? this.#otherRunOf(callKeyOfRequest(requestId)) : undefined;
    }
    if (callKey !== undefined) return known === 'nothing' ? this.#otherRunOf(callKey) : undefined;
    if (callId !== undefined && known !== 'nothing') return undefined;
    const named = this.callOf({ callId });
    if (named !== undefined) return named;
    const waiting = children.waits.filter(({ requestId }) => requestId !== undefined);
    const [only, another] = waiting;
    if (only === undefined) return undefined;
    if (another === undefined && known !== 'pending') return only.runKey;
    const ids = waiting.flatMap(({ requestId }) => requestId ?? []);
    throw failure(
      'AmbiguousRequest',
      `requestId: several agents wait, name a request by its id; those below wait for: ${listed(ids)}`,
      { field: 'requestId', requestIds: ids },
    );
  }

  /** Run key of another run whose call is named. */
  callOf({ callKey, callId }: CallName): string | undefined {
    if (this.#forwarder.children.running.length === 0) return undefined;
    if (typeof callKey === 'string') return this.#otherRunOf(callKey);
    if (typeof callId !== 'string') return undefined;
    if (callId.startsWith(OWN_CALL_ID_PREFIX)) {
      return this.#otherRunOf(callId.slice(OWN_CALL_ID_PREFIX.length));
    }
    // Models number their calls each for itself: an id by which several agents wait means no agent.
    const [wait, another] = this.#forwarder.children.waits.filter((known) => known.callId === callId);
    return another === undefined ? wait?.runKey : undefined;
  }

  /** Whether the id of a function response is that of a request of another run. */
  isRequest(id: string): boolean {
    const callKey = callKeyOfRequest(id);
    return callKey !== undefined && this.askedBy({ requestId: id }) !== undefined;
  }

  /** Whether the id of a function response is that of a call of an agent which is known to run below this one. */
  isCallOfChild(callId: string): boolean {
    const runKey = this.callOf({ callId });
    const { running, waits } = this.#forwarder.children;
    return runKey !== undefined && [...running, ...waits].some((known) => known.runKey === runKey);
  }

  /** @throws ApplicationFailure of type `InvalidDecision` where it can't be sent on. */
  check(given: unknown): void {
    const problem = problemOf(given);
    if (problem === undefined) return;
    throw failure('InvalidDecision', problem, { field: 'arguments' });
  }

  /**
   * Sends a decision on.
   *
   * @throws ApplicationFailure of type `NotPending` where no agent runs that could have asked.
   */
  async decision(runKey: string, order: string, given: unknown, name: RequestName): Promise<DecisionReceipt> {
    const workflowId = await this.send(runKey, order, given);
    const { requestId = '' } = name;
    const callKey = name.callKey ?? callKeyOfRequest(requestId) ?? '';
    if (workflowId !== undefined)
      return { v: PROTOCOL_VERSION, requestId, callKey, status: 'forwarded', workflowId };
    const what = requestId || callKey || 'the request';
    throw failure('NotPending', `${what} is not pending: no agent runs that could have asked it`, {
      field: requestId === '' ? 'callKey' : 'requestId',
      requestId,
    });
  }

  /** Signals the workflow of a run. Returns its id; undefined where no such workflow runs. */
  async send(runKey: string, signal: string, given: unknown): Promise<string | undefined> {
    this.check(given);
    const workflowId = childWorkflowIdOf(this.#forwarder.rootWorkflowId, runKey);
    this.#underWay += 1;
    try {
      // Also while the turn is being ended: the sender gets a receipt.
      await CancellationScope.nonCancellable(() =>
        getExternalWorkflowHandle(workflowId).signal(signal, given),
      );
      return workflowId;
    } catch {
      // A signal fails only where no workflow has that id, or the one that had it has ended.
      return undefined;
    } finally {
      this.#underWay -= 1;
    }
  }

  #otherRunOf(callKey: string | undefined): string | undefined {
    if (callKey === undefined) return undefined;
    const runKey = runKeyOfCallKey(callKey);
    return isRunKey(runKey) && runKey !== this.#forwarder.ownRunKey() ? runKey : undefined;
  }
}
