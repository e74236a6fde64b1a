import type { WorkflowHandle } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import type { ClientContext } from '../client-context.ts';

/** Whether a worker has taken up what a closed run was sent: a message that came after the last completed task was never seen. */
export async function wasProcessed(
  { temporal }: ClientContext,
  run: WorkflowHandle,
  messageId: string,
): Promise<boolean> {
  const events = (await run.fetchHistory()).events ?? [];
  const last = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes);
  for (const { workflowExecutionSignaledEventAttributes: signal } of events.slice(last + 1)) {
    if (signal?.signalName !== SEND_MESSAGE) continue;
    const [sent] = await decodeArrayFromPayloads(
      temporal.options.loadedDataConverter,
      signal.input?.payloads,
    );
    if (typeof sent === 'object' && sent !== null && 'messageId' in sent && sent.messageId === messageId) {
      return false;
    }
  }
  return true;
}
