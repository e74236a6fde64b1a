import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { Confirm, DecisionReceipt } from '../../src/contract/approvals.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { CONFIRM, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../src/protocol/names.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import type { TurnEnvironment } from './turn-environment.ts';

type Given = Partial<OutgoingMessage>;

/** A turn of its own session that asks people. */
export class AskingTurn {
  readonly names: { app: string; userId: string; sessionId: string };
  readonly #environment: Pick<TurnEnvironment, 'client' | 'store' | 'temporal'>;
  #workflowId = '';
  #result: Promise<TurnResult> | undefined;

  private constructor(environment: Pick<TurnEnvironment, 'client' | 'store' | 'temporal'>, given: Given) {
    const { app = 'test', userId = 'ada', sessionId = randomUUID() } = given;
    this.#environment = environment;
    this.names = { app, userId, sessionId };
  }

  static async start(
    environment: Pick<TurnEnvironment, 'client' | 'store' | 'temporal'>,
    given: Given = {},
  ): Promise<AskingTurn> {
    const turn = new AskingTurn(environment, given);
    await turn.send(given);
    return turn;
  }

  async send(given: Given = {}): Promise<void> {
    const sent = await this.#environment.client.sendMessage({ message: 'go', ...given, ...this.names });
    this.#workflowId = sent.workflowId;
    this.#result = sent.result();
    // Who asks for it hears of its failure.
    this.#result.catch(() => undefined);
  }

  /** Those that wait for an answer, as soon as there are so many. */
  async pending(count = 1): Promise<ApprovalRow[]> {
    let rows: ApprovalRow[] = [];
    await expect
      .poll(
        async () => {
          rows = await this.#environment.store.approvals.list(this.names);
          return rows.length;
        },
        { timeout: 120_000 },
      )
      .toBe(count);
    return rows.toSorted((one, other) => (one.requestId < other.requestId ? -1 : 1));
  }

  /** All of them, whatever became of them. */
  async requests(): Promise<ApprovalRow[]> {
    return await this.#environment.store.approvals.list({
      ...this.names,
      status: ['pending', 'approved', 'rejected', 'answered', 'expired', 'cancelled'],
    });
  }

  confirm(decision: Confirm): Promise<DecisionReceipt> {
    return this.#update(CONFIRM, decision);
  }

  input(response: unknown, requestId?: string): Promise<DecisionReceipt> {
    return this.#update(PROVIDE_INPUT, { response, ...(requestId === undefined ? {} : { requestId }) });
  }

  credential(credentialRef: string): Promise<DecisionReceipt> {
    return this.#update(PROVIDE_CREDENTIAL, { credentialRef });
  }

  /** A decision that needs no worker to be told. */
  async signal(decision: Confirm): Promise<void> {
    await this.handle.signal(CONFIRM, decision);
  }

  get handle() {
    return this.#environment.temporal.workflow.getHandle(this.#workflowId);
  }

  async result(): Promise<TurnResult> {
    if (this.#result === undefined) throw new Error('nothing was sent');
    return await this.#result;
  }

  events(): Promise<StoredEvent[]> {
    return this.#environment.store.sessions.readEvents(this.names);
  }

  /** What the calls of its ended turn came to, in order. */
  async responses(): Promise<(Record<string, unknown> | undefined)[]> {
    await this.result();
    return (await this.events())
      .flatMap(({ event }) => getFunctionResponses(event))
      .map(({ response }) => response);
  }

  async history(): Promise<string> {
    return JSON.stringify(await this.handle.fetchHistory());
  }

  async #update(name: string, payload: unknown): Promise<DecisionReceipt> {
    // Requests are in the store before the workflow has heard of them: early replies are kept, and others are sent again.
    let receipt: DecisionReceipt | undefined;
    await expect
      .poll(
        async () => {
          try {
            receipt = await this.handle.executeUpdate<DecisionReceipt, [unknown]>(name, { args: [payload] });
            return 'answered';
          } catch (error) {
            return String((error as { cause?: unknown }).cause ?? error);
          }
        },
        { timeout: 120_000 },
      )
      .toBe('answered');
    return receipt as DecisionReceipt;
  }
}
