import type { Client } from '@temporalio/client';
import { expect } from 'vitest';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { until } from './until.ts';

/** Waits for the workflow of a request: the store has the request a moment earlier, and what is said in that moment is kept. */
export async function untilAsked(temporal: Client, { workflowId }: ApprovalRow): Promise<void> {
  const workflow = temporal.workflow.getHandle(workflowId);
  await until(async () => expect((await workflow.query<TurnStatus>('status')).status).toMatch(/^waiting_/));
}
