import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** A payload of any encoding, `undefined` for none. */
export function raw(encoding: string | Uint8Array | undefined, data: string | Uint8Array = ''): Payload {
  const bytes = (value: string | Uint8Array) => (typeof value === 'string' ? Buffer.from(value) : value);
  return { metadata: encoding === undefined ? {} : { encoding: bytes(encoding) }, data: bytes(data) };
}

/** What the worker of a test, which has no codec, can't decode. */
export const UNDECODABLE: readonly [what: string, payload: Payload, noted: string][] = [
  ['no JSON', raw('json/plain', '{not json'), 'json/plain that is no JSON'],
  [
    'encrypted',
    raw('binary/encrypted', Buffer.from([1, 2, 3])),
    'binary/encrypted, which this worker can’t decode',
  ],
  ['protobuf as JSON', raw('json/protobuf', '{}'), 'json/protobuf, which this worker can’t decode'],
  ['no encoding', raw(undefined, '{}'), 'a payload without an encoding'],
];

/** Says to workflows what no SDK would encode. */
export class RawSender {
  readonly #temporal: Client;

  constructor(temporal: Client) {
    this.#temporal = temporal;
  }

  async signal(workflowId: string, signalName: string, payloads: Payload[]): Promise<void> {
    await this.#temporal.workflowService.signalWorkflowExecution({
      namespace: this.#temporal.options.namespace,
      workflowExecution: { workflowId },
      signalName,
      input: { payloads },
      requestId: randomUUID(),
    });
  }

  /** What became of it; a refusal is none of its failures. */
  async update(workflowId: string, name: string, payloads: Payload[]) {
    return await this.#temporal.workflowService.updateWorkflowExecution({
      namespace: this.#temporal.options.namespace,
      workflowExecution: { workflowId },
      waitPolicy: { lifecycleStage: 3 },
      request: { meta: { updateId: randomUUID() }, input: { name, args: { payloads } } },
    });
  }

  async query(workflowId: string, queryType: string, payloads: Payload[]) {
    return await this.#temporal.workflowService.queryWorkflow({
      namespace: this.#temporal.options.namespace,
      execution: { workflowId },
      query: { queryType, queryArgs: { payloads } },
    });
  }

  async start(
    workflowId: string,
    payloads: Payload[],
    { type = 'agentTurn', memo }: { type?: string; memo?: Record<string, Payload> } = {},
  ): Promise<void> {
    await this.#temporal.workflowService.startWorkflowExecution({
      namespace: this.#temporal.options.namespace,
      workflowId,
      workflowType: { name: type },
      taskQueue: { name: 'holdfast' },
      input: { payloads },
      requestId: randomUUID(),
      ...(memo === undefined ? {} : { memo: { fields: memo } }),
    });
  }
}
