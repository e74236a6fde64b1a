import { setTimeout } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { HeldQuestion as ToldQuestion } from '../../src/contract/approvals.ts';
import { MOST_HELD } from '../../src/contract/lists.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { requestEvent } from '../../src/flows/request-event.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { heldRequestIdOf, isHeldRequest } from '../../src/protocol/gate.ts';
import { HOLD_QUESTION } from '../../src/protocol/names.ts';
import { toJsonValue } from '../../src/schema/json-value.ts';
import { attemptReplaced, isStoreAway } from '../../src/store/store-errors.ts';
import type { HeldAnswer, HeldQuestion } from '../../src/tools/call-questions.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { gateOf, newRequest } from './request.ts';
import { type CallThatAsks, seenRequest } from './seen-request.ts';

/** Milliseconds between two looks for the answer. */
const LOOKS = { first: 100, longest: 1_000, grows: 1.5 };
/** The part of the time that is left of the tool's for which a question is held: after its end the call has to end, too. */
const SHARE = 0.9;
/** Milliseconds; nobody answers sooner. */
const LEAST_TIME = 1_000;
/** Milliseconds after which the workflow has ended a question whose time is over, unless no worker is free for its record. */
const LONGEST_GRACE = 3_000;
const NOT_IN_TIME = 'nobody answered in time';

/** What the signal says beside the name of its question. */
type Told = Omit<ToldQuestion, 'v' | 'callKey' | 'n'>;

interface OpenQuestion {
  row: ApprovalRow;
  n: number;
  /** For the workflow. */
  told: Told;
}

/**
 * Questions to people that one run of a call holds open: the run goes on, and waits for the answers. A question is in the store before
 * the workflow hears of it. Only what the store says is an answer. Another attempt that asks the same gets the question that is there.
 */
export class QuestionHolder {
  readonly #dependencies: ActivityDependencies;
  readonly #call: CallThatAsks;
  readonly #run: { args: Record<string, unknown>; timeLeft: () => number };
  /** Of the attempt's own activity: a server may ask in the context of another one. */
  readonly #workflowId = activityInfo().workflowExecution?.workflowId ?? '';
  /** Of this run's questions. */
  readonly #asked = new Set<string>();
  #opening: Promise<unknown> = Promise.resolve();

  constructor(
    dependencies: ActivityDependencies,
    call: CallThatAsks,
    run: { args: Record<string, unknown>; timeLeft: () => number },
  ) {
    this.#dependencies = dependencies;
    this.#call = call;
    this.#run = run;
  }

  /** @throws StoreError; HOLDFAST_ATTEMPT_REPLACED where another attempt has begun. */
  async hold({ question, within, signal }: HeldQuestion): Promise<HeldAnswer> {
    const time = Math.floor(Math.min(within, this.#run.timeLeft() * SHARE));
    if (time < LEAST_TIME) return { status: 'refused', reason: 'less than a second is left for an answer' };
    // One after another: questions that are asked at once have numbers of their own.
    const opening = this.#opening.then(() => this.#opened(question, time));
    this.#opening = opening.catch(() => undefined);
    const open = await opening;
    if (open === undefined)
      return { status: 'refused', reason: `more than ${MOST_HELD} questions in one call` };
    const over = AbortSignal.any([signal, this.#call.current.signal]);
    return outcomeOf(open.row) ?? (await this.#awaited(open, over));
  }

  /** The question as it is in the store, asked now or by an earlier attempt; undefined where there were too many. */
  async #opened(question: HeldQuestion['question'], time: number): Promise<OpenQuestion | undefined> {
    const { store, deployment } = this.#dependencies;
    const { input, begun, agent, tool, current } = this.#call;
    const { session, runKey, callKey, callId } = input;
    const { requests, now } = await store.approvals.findEvidence(session, callKey);
    const held = requests.filter(({ requestId }) => isHeldRequest(requestId));
    const index = held.findIndex(
      (row) => row.status !== 'cancelled' && !this.#asked.has(row.requestId) && isSame(row, question),
    );
    const known = held[index];
    const n = (known === undefined ? held.length : index) + 1;
    if (n > MOST_HELD) return undefined;
    const left = known?.until === undefined ? time : Math.min(time, known.until - now);
    const request = {
      ...newRequest(
        {
          ...{ callKey, callId, agent, tool, workflowId: this.#workflowId, acting: input },
          args: toJsonValue(this.#run.args) as Record<string, unknown>,
          terms: { expiresIn: time },
        },
        n,
        question,
      ),
      requestId: heldRequestIdOf(callKey, n),
    };
    this.#asked.add(request.requestId);
    if (current.signal.aborted) throw current.aborted();
    if (known === undefined) {
      const event = requestEvent([request], { invocationId: begun.invocationId, author: agent.name });
      const isThere = await store.approvals.suspendCall({
        ...{ session, runKey, callKey, attempt: begun.attempt, request, holds: true },
        event: await seenRequest(this.#dependencies, this.#call, event),
      });
      if (!isThere) throw attemptReplaced(callKey);
    }
    const row = known ?? (await store.approvals.findRequest(session, request.requestId));
    if (row === undefined) throw attemptReplaced(callKey);
    const gate = gateOf(request, tool, settingsOf(deployment, begun.names.app));
    const { hint, concealed, notifies, notifiesEnd } = gate;
    const told: Told = { hint, concealed, notifies, notifiesEnd, expiresIn: Math.max(left, 1) };
    return { row, n, told };
  }

  async #awaited({ row: { requestId }, n, told }: OpenQuestion, over: AbortSignal): Promise<HeldAnswer> {
    const { expiresIn: time = 0 } = told;
    const late = performance.now() + time + Math.min(LONGEST_GRACE, time / 20);
    let isTold = false;
    let pause = LOOKS.first;
    try {
      for (;;) {
        if (!isTold) isTold = await this.#tell(n, told);
        const found = await this.#found(requestId);
        if (found !== undefined) return found;
        const left = late - performance.now();
        if (left <= 0) return await this.#expired(requestId, n);
        await setTimeout(Math.min(pause, left), undefined, { signal: over });
        pause = Math.min(pause * LOOKS.grows, LOOKS.longest);
      }
    } catch (error) {
      if (!over.aborted) throw error;
      // Another attempt of the call goes on with the question.
      if (!this.#call.current.isRetried()) await this.#tell(n, { ends: 'cancelled' });
      return { status: 'cancelled' };
    }
  }

  /** The workflow had no worker for its record, or was never told. */
  async #expired(requestId: string, n: number): Promise<HeldAnswer> {
    const { store } = this.#dependencies;
    const { session } = this.#call.input;
    const entry = {
      entryId: `${requestId}/expired`,
      requestId,
      kind: 'expired',
      reason: NOT_IN_TIME,
    } as const;
    await store.approvals.recordEntries({ session, entries: [{ ...entry, at: await store.now() }] });
    await this.#tell(n, { ends: 'expired' });
    return (await this.#found(requestId)) ?? { status: 'expired' };
  }

  /** Undefined while there is no answer, or the store is away. */
  async #found(requestId: string): Promise<HeldAnswer | undefined> {
    try {
      const row = await this.#dependencies.store.approvals.findRequest(this.#call.input.session, requestId);
      return row === undefined ? { status: 'cancelled' } : outcomeOf(row);
    } catch (error) {
      if (isStoreAway(error)) return undefined;
      throw error;
    }
  }

  /** @returns false where Temporal was away: the workflow is told again. */
  async #tell(n: number, told: Told): Promise<boolean> {
    const { callKey } = this.#call.input;
    const payload: ToldQuestion = { v: PROTOCOL_VERSION, callKey, n, ...told };
    try {
      const handle = this.#dependencies.temporal().workflow.getHandle(this.#workflowId);
      await handle.signal(HOLD_QUESTION, payload);
      return true;
    } catch (error) {
      return error instanceof WorkflowNotFoundError;
    }
  }
}

function outcomeOf({ status, response }: ApprovalRow): HeldAnswer | undefined {
  if (status === 'pending') return undefined;
  if (status === 'answered') return { status, response };
  return { status: status === 'expired' ? 'expired' : 'cancelled' };
}

function isSame(row: ApprovalRow, { message, responseSchema, payload }: HeldQuestion['question']): boolean {
  const asked = [row.hint, row.responseSchema ?? null, row.payload ?? null];
  return canonicalJson(asked) === canonicalJson([message, responseSchema ?? null, payload ?? null]);
}
