import { scheduleActivity } from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { DeliveredNotice, DeliverNotice } from '../../src/protocol/gate.ts';
import { DELIVER_NOTICE, DELIVER_NOTICE_WORKFLOW, NOTIFY } from '../../src/protocol/names.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/notice-limits.ts';
import { deliverNoticeOptions, notifyOptions } from '../activity-options.ts';
import { checkArguments } from '../arguments.ts';
import { turnPriority } from '../turn-priority.ts';

/** Tells people of requests, beside the turn that has made them: by the notifier that could not be told, or by all of the app. */
export async function deliverNotice(start: DeliverNotice): Promise<DeliveredNotice> {
  checkArguments(start, DELIVER_NOTICE_WORKFLOW);
  const { notifier, retryFor: _retryFor, ...input } = start;
  const priority = turnPriority(start);
  const summary = `${start.why} · ${String(start.requestIds)}`;
  if (notifier !== undefined) {
    return await scheduleActivity<DeliveredNotice>(
      DELIVER_NOTICE,
      [start],
      deliverNoticeOptions(`${notifier} · ${summary}`, priority),
    );
  }
  // What a notifier can't be told goes on by itself: all that this waits for is a worker, and the store.
  const options = { ...notifyOptions(summary, priority), scheduleToCloseTimeout: LONGEST_NOTICE_TIME };
  await scheduleActivity(NOTIFY, [input], options);
  return { v: PROTOCOL_VERSION, status: 'told' };
}
