import type { Client } from '@temporalio/client';
import type { Decided } from '../client/approvals/approvals.ts';
import type { WhichRequest } from '../client/approvals/find-request.ts';
import type { HoldfastClient } from '../client/holdfast-client.ts';
import { whenAtRest } from '../client/turns/turn-at-rest.ts';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { ConfirmOptions, DecisionReceipt } from '../contract/approvals.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import { EXPIRE_REQUEST } from '../protocol/names.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import type { Store } from '../store/store.ts';

/** A request by its id or its call, or the only pending one of a turn that was sent. */
export type TestRequest = string | WhichRequest | TurnHandle;

/** Answers requests in place of people. */
export interface TestRequests {
  /**
   * Waits until a turn waits for people, and for nothing else, and gives its pending requests.
   *
   * @throws Error where the turn ends first.
   * @example
   * const turn = await env.send('refund A-1');
   * const [request] = await env.waiting(turn);
   */
  waiting(turn: TurnHandle): Promise<ApprovalRow[]>;
  /**
   * Approves a call; of a turn, once it waits.
   *
   * @throws what `client.approvals.confirm` throws.
   */
  approve(request: TestRequest, options?: Omit<ConfirmOptions, 'confirmed'>): Promise<DecisionReceipt>;
  /** Rejects a call; of a turn, once it waits. */
  reject(
    request: TestRequest,
    options?: Omit<ConfirmOptions, 'confirmed' | 'args'>,
  ): Promise<DecisionReceipt>;
  /** Answers a question; of a turn, once it waits. */
  provideInput(request: TestRequest, response: unknown): Promise<DecisionReceipt>;
  /** Stores a credential for the user who is asked for it, and answers with it; of a turn, once it waits. */
  provideCredential(request: TestRequest, credential: AuthCredential): Promise<DecisionReceipt>;
  /** Lets a request run out now: rejected, approved or escalated, as it says. For a turn, as soon as it waits. */
  expire(request: TestRequest): Promise<void>;
}

interface Setting {
  client: HoldfastClient;
  store: Store;
  temporal: Client;
  /** Undefined for a turn of another environment. */
  sessionOf: (turn: TurnHandle) => SessionNames | undefined;
  /** A worker is up in a test, however slow the machine; milliseconds. */
  timeout?: number;
}

const PATIENCE = 60_000;

export function testRequests({
  client,
  store,
  temporal,
  sessionOf,
  timeout = PATIENCE,
}: Setting): TestRequests {
  /** Requests that were answered here, with the votes that they had before. */
  const replied = new Map<string, number>();
  const waiting = async (turn: TurnHandle): Promise<ApprovalRow[]> => {
    const session = sessionOf(turn);
    if (session === undefined) {
      throw new Error('waiting: expected a turn of a session that `run` or `send` of this environment began');
    }
    const stop = new AbortController();
    const { invocationId } = turn;
    const ended = turn.result({ signal: stop.signal }).then(({ status, error }) => {
      const why = error === undefined ? '' : `: ${error.code}: ${error.message}`;
      throw new Error(`the turn waits for nobody: it has ended, ${status}${why}`);
    });
    ended.catch(() => undefined);
    try {
      await Promise.race([ended, whenAtRest(client, { session, invocationId, replied }, stop.signal)]);
    } finally {
      stop.abort();
    }
    const pending = await client.approvals.list(session);
    return pending.filter(({ requestId, votes }) => replied.get(requestId) !== votes.length);
  };
  const named = async (request: TestRequest): Promise<WhichRequest> => {
    if (typeof request === 'string') return { requestId: request };
    if (!isTurn(request)) return request;
    const pending = await waiting(request);
    const [only] = pending;
    if (only !== undefined && pending.length === 1) return { requestId: only.requestId };
    const ids = pending.map(({ requestId, tool }) => `${requestId} (${tool})`).join(', ');
    throw new Error(`the turn waits for ${pending.length} answers, name the request: ${ids}`);
  };
  const row = async (request: TestRequest): Promise<ApprovalRow> => {
    const found = await client.approvals.get(await named(request));
    if (found === undefined) throw new Error('there is no such request');
    return found;
  };
  /** The answer to a request, which agents below the root may take a moment to take up. */
  const answering = async (
    request: TestRequest,
    answer: (which: WhichRequest) => Promise<Decided>,
  ): Promise<DecisionReceipt> => {
    const which = await named(request);
    const before = (await client.approvals.get(which))?.votes.length ?? 0;
    const receipt = answered(await answer(which));
    replied.set(receipt.requestId, before);
    return receipt;
  };
  return {
    waiting,
    async approve(request, options) {
      return await answering(request, (which) =>
        client.approvals.confirm(which, { timeout, ...options, confirmed: true }),
      );
    },
    async reject(request, options) {
      return await answering(request, (which) =>
        client.approvals.confirm(which, { timeout, ...options, confirmed: false }),
      );
    },
    async provideInput(request, response) {
      return await answering(request, (which) => client.approvals.provideInput(which, { timeout, response }));
    },
    async provideCredential(request, credential) {
      const { app, userId, requestId, authConfig } = await row(request);
      if (authConfig === undefined) throw new Error(`${requestId} asks for no credential`);
      const { credentialKey } = authConfig;
      const { credentialRef } = await client.credentials.put({ app, userId, credentialKey, credential });
      return await answering(requestId, (which) =>
        client.approvals.provideCredential(which, { timeout, credentialRef }),
      );
    },
    async expire(request) {
      const { requestId } = await row(request);
      const owner = await store.approvals.find(requestId);
      // Workers ask the store since when others may decide.
      if (owner !== undefined) await store.approvals.expireForTest(owner.session, requestId);
      const handle = temporal.workflow.getHandle(owner?.workflowId ?? '');
      await handle.executeUpdate<void, [object]>(EXPIRE_REQUEST, { args: [{ requestId }] });
    },
  };
}

function isTurn(request: Exclude<TestRequest, string>): request is TurnHandle {
  return 'invocationId' in request && 'result' in request;
}

function answered(receipt: Decided): DecisionReceipt {
  if (receipt.confirmed) return receipt;
  throw new Error(`no worker has taken the decision up: ${receipt.reason}`);
}
