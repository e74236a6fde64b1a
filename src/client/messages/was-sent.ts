import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal as proto } from '@temporalio/proto';
import { isRecord } from '../../protocol/json.ts';
import { SEND_MESSAGE } from '../../protocol/names.ts';
import type { TurnNames } from '../turns/turn-names.ts';

type HistoryEvent = proto.api.history.v1.IHistoryEvent;

/** Whether a run was given a message: it began with it, has it by signal or update, or the run before has handed it on. */
export async function wasSent(
  temporal: Client,
  run: WorkflowHandle,
  { messageId, invocationId }: Pick<TurnNames, 'messageId' | 'invocationId'>,
): Promise<boolean> {
  for (const event of (await run.fetchHistory()).events ?? []) {
    const payloads = payloadsOf(event);
    if (payloads === undefined) continue;
    const [given, carried] = await decodeArrayFromPayloads(temporal.options.loadedDataConverter, payloads);
    if (isRecord(given) && given.messageId === messageId) return true;
    if (carried !== undefined && names(carried, invocationId)) return true;
  }
  return false;
}

function payloadsOf(event: HistoryEvent) {
  const {
    workflowExecutionStartedEventAttributes: started,
    workflowExecutionSignaledEventAttributes: signal,
    workflowExecutionUpdateAcceptedEventAttributes: update,
  } = event;
  if (started) return started.input?.payloads;
  if (signal?.signalName === SEND_MESSAGE) return signal.input?.payloads;
  const input = update?.acceptedRequest?.input;
  return input?.name === SEND_MESSAGE ? input.args?.payloads : undefined;
}

/** Whether an invocation's id is anywhere in the state that a run transfers. */
function names(value: unknown, invocationId: string): boolean {
  // Recursion would end at the stack's: a state may be nested at any depth.
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (one === invocationId) return true;
    if (typeof one !== 'object' || one === null) continue;
    for (const [key, member] of Object.entries(one)) {
      if (key === invocationId) return true;
      left.push(member);
    }
  }
  return false;
}
