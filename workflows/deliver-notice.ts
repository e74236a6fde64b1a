import { scheduleActivity } from '@temporalio/workflow';
import type { DeliveredNotice, DeliverNotice } from '../src/protocol/gate.ts';
import { DELIVER_NOTICE, NOTIFY } from '../src/protocol/names.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { deliverNoticeOptions, notifyOptions } from './activity-options.ts';
import { turnPriority } from './turn-priority.ts';

/** Tells people of requests, beside the turn that has made them: by the notifier that could not be told, or by all of the app. */
export async function deliverNotice(start: DeliverNotice): Promise<DeliveredNotice> {
  const { notifier, since: _since, retryFor: _retryFor, ...input } = start;
  const priority = turnPriority(start);
  const summary = `${start.why} · ${start.requestIds.join(', ')}`;
  if (notifier !== undefined) {
    return await scheduleActivity<DeliveredNotice>(
      DELIVER_NOTICE,
      [start],
      deliverNoticeOptions(`${notifier} · ${summary}`, priority),
    );
  }
  await scheduleActivity(NOTIFY, [input], notifyOptions(summary, priority));
  return { v: PROTOCOL_VERSION, status: 'told' };
}
