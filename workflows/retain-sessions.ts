import { continueAsNew, scheduleActivity, workflowInfo } from '@temporalio/workflow';
import type { RetainSessions } from '../src/contract/sessions.ts';
import { WORKFLOW_CHECKS } from '../src/contract/workflow-checks.ts';
import { RESULTS } from '../src/protocol/activity-results.ts';
import { DELETE_EXPIRED_SESSIONS, RETAIN_SESSIONS } from '../src/protocol/names.ts';
import type { ExpiredSessions } from '../src/protocol/retention.ts';
import { deleteExpiredOptions, usable } from './activities.ts';
import { taken } from './arguments.ts';

/** Deletes an app's sessions in which nothing has happened for longer than its retention, some at a time. */
export async function retainSessions(given: RetainSessions): Promise<{ deleted: number }> {
  const input = taken<RetainSessions>(WORKFLOW_CHECKS.retentionStart, given, {
    of: RETAIN_SESSIONS,
    type: 'InvalidStart',
  });
  let deleted = 0;
  let { after } = input;
  for (;;) {
    const result = await scheduleActivity<ExpiredSessions>(
      DELETE_EXPIRED_SESSIONS,
      [inputAfter(input, after)],
      deleteExpiredOptions(input.app),
    );
    const expired = usable(DELETE_EXPIRED_SESSIONS, RESULTS.expiredSessions, result);
    deleted += expired.deleted;
    if (!expired.more) return { deleted };
    after = expired.after;
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof retainSessions>(inputAfter(input, after));
    }
  }
}

function inputAfter({ v, app }: RetainSessions, after: RetainSessions['after']): RetainSessions {
  return { v, app, after };
}
