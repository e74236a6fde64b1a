import { ServiceError, WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { HoldfastClient, type HoldfastClientOptions, HoldfastError } from '../../src/client/index.ts';

const NAMES = { app: 'shop', userId: 'ada', sessionId: 's1' };

/** A client whose every call of Temporal fails by an error. */
function clientOf(error: unknown): HoldfastClient {
  const fails = async () => {
    throw error;
  };
  const handle = { describe: fails, executeUpdate: fails, signal: fails, query: fails, result: fails };
  const temporal = {
    workflowService: {},
    options: { namespace: 'default' },
    withDeadline: async (_deadline: number, call: () => Promise<unknown>) => await call(),
    workflow: { getHandle: () => handle, start: fails, signalWithStart: fails },
  };
  const row = { requestId: 'rq-e-1.1.0.1', workflowId: 'shop/ada/s1', status: 'pending' };
  const store = { approvals: { find: async () => row }, blobs: {} } as never;
  return new HoldfastClient({ temporal: temporal as unknown as HoldfastClientOptions['temporal'], store });
}

/** As the connection gives it. */
function grpc(code: number): Error {
  const details = 'connect to temporal.internal with key hunter2';
  return new ServiceError('Failed', {
    cause: Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} }),
  });
}

describe('an outage of Temporal', () => {
  const asked: [string, (client: HoldfastClient) => Promise<unknown>][] = [
    ['sendMessage', (client) => client.sendMessage({ ...NAMES, message: 'hello' })],
    ['turn', (client) => client.turn({ ...NAMES, messageId: 'm1' })],
    ['interrupt', (client) => client.interrupt(NAMES)],
    ['cancelCall', (client) => client.cancelCall(NAMES, { callKey: 'e-1.1.0' })],
    ['status', (client) => client.status(NAMES)],
    [
      'approvals.confirm',
      (client) => client.approvals.confirm({ requestId: 'rq-e-1.1.0.1' }, { confirmed: true }),
    ],
  ];

  test.each(asked)('is told by %s as an error to retry, without what the connection said', async (_, ask) => {
    const error = await ask(clientOf(grpc(14))).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code: 'HOLDFAST_TEMPORAL_UNREACHABLE', retryable: true });
    expect(JSON.stringify(error)).not.toContain('hunter2');
    expect(String(error)).not.toContain('hunter2');
  });

  test('is no permission that is missing', async () => {
    const denied = grpc(7);
    await expect(clientOf(denied).status(NAMES)).rejects.toBe(denied);
  });
});

test.each(['RawSecret', 'InvalidMessage', 'SomethingNew'])(
  'what a run refuses as %s is invalid, and no failure of Temporal',
  async (type) => {
    const refusal = ApplicationFailure.nonRetryable('parts[0]: why', type);
    const client = clientOf(new WorkflowUpdateFailedError('Workflow Update failed', refusal));
    await expect(client.interrupt(NAMES)).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_TURN',
      message: 'parts[0]: why',
    });
  },
);
