import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { MessageReceipt, SendMessage } from '../../src/protocol/message.ts';
import type { TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { TurnEnvironment } from './turn-environment.ts';

/** A session, as a plain Temporal client handles it. */
export class Conversation {
  readonly #environment: TurnEnvironment;
  readonly names: SessionNames = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  readonly workflowId = `test/ada/${this.names.sessionId}`;

  constructor(environment: TurnEnvironment) {
    this.#environment = environment;
  }

  get handle() {
    return this.#environment.temporal.workflow.getHandle(this.workflowId);
  }

  start(message: string, messageId: string = message) {
    return this.#environment.temporal.workflow.start('agentTurn', {
      workflowId: this.workflowId,
      taskQueue: 'holdfast',
      args: [{ v: 1, ...this.names, message, messageId }],
    });
  }

  send(message: string, fields: Partial<SendMessage> = {}) {
    return this.handle.signal('sendMessage', { messageId: message, message, ...fields });
  }

  ask(message: string, fields: Partial<SendMessage> = {}) {
    return this.handle.executeUpdate<MessageReceipt, [SendMessage]>('sendMessage', {
      args: [{ messageId: message, message, ...fields }],
    });
  }

  status() {
    return this.handle.query<TurnStatus>('status');
  }

  async result(): Promise<TurnResult> {
    return (await this.handle.result()) as TurnResult;
  }

  /** What was said in the transcript, in order; calls by their tool, responses by their content. */
  async said(): Promise<string[]> {
    const events = await this.#environment.store.sessions.readEvents(this.names);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    return events.flatMap(({ event }) =>
      (event.content?.parts ?? []).map(
        (part) =>
          part.text ??
          (part.functionCall
            ? `${part.functionCall.name}()`
            : JSON.stringify(part.functionResponse?.response)),
      ),
    );
  }
}
