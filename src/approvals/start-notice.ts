import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { DeliverNotice } from '../protocol/gate.ts';
import { shortDigest } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { DELIVER_NOTICE_WORKFLOW } from '../protocol/names.ts';

/** Where and when a notice is told beside its turn. */
export interface NoticeStart {
  /** Of the workers that have its notifier. */
  taskQueue: string;
  /** Milliseconds until the first attempt. */
  delay?: number;
  /** Also where it was told, or given up, before. */
  again?: true;
}

/** Id of the workflow that tells it: below that of its turn, with whose session it is deleted. */
export function noticeIdOf({
  workflowId,
  notifier,
  requestIds,
  why,
}: Pick<DeliverNotice, 'workflowId' | 'notifier' | 'requestIds' | 'why'>): string {
  return `${workflowId}/notice-${shortDigest(JSON.stringify([notifier ?? null, requestIds, why]))}`;
}

/**
 * Has a notice told beside its turn. One that is under way, or is over, isn't begun again.
 *
 * @returns whether it was begun.
 */
export async function startNotice(
  temporal: Pick<Client, 'workflow'>,
  notice: DeliverNotice,
  { taskQueue, delay, again }: NoticeStart,
): Promise<boolean> {
  try {
    await temporal.workflow.start(DELIVER_NOTICE_WORKFLOW, {
      workflowId: noticeIdOf(notice),
      taskQueue,
      args: [notice],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
      staticSummary: `${notice.notifier ?? 'notice'} · ${notice.why}`.slice(0, 100),
      ...defined({ startDelay: delay }),
    });
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return false;
  }
}
