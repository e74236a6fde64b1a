import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { wasSent } from '../../src/client/messages/was-sent.ts';

/** A run that began with a state of some JSON. */
function runOf(json: string): WorkflowHandle {
  const metadata = { encoding: Buffer.from('json/plain') };
  const payloads = ['{}', json].map((text) => ({ metadata, data: Buffer.from(text) }));
  const events = [{ workflowExecutionStartedEventAttributes: { input: { payloads } } }];
  return { fetchHistory: async () => ({ events }) } as unknown as WorkflowHandle;
}

const temporal = {
  options: { loadedDataConverter: { ...defaultDataConverter, payloadCodecs: [] } },
} as unknown as Client;
const names = { messageId: 'm1', invocationId: 'e-1' };

test('a message is found in the state that a run transfers, however deep it is nested [client.attach]', async () => {
  const nested = (inner: string) => `${'[['.repeat(50_000)}${inner}${']]'.repeat(50_000)}`;
  expect(await wasSent(temporal, runOf(nested('"e-1"')), names)).toBe(true);
  expect(await wasSent(temporal, runOf(nested('{"e-1":{}}')), names)).toBe(true);
  expect(await wasSent(temporal, runOf(nested('"e-2"')), names)).toBe(false);
});
