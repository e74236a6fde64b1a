import { continueAsNew, scheduleActivity, workflowInfo } from '@temporalio/workflow';
import { DELETE_EXPIRED_SESSIONS } from '../src/protocol/names.ts';
import type { ExpiredSessions, RetainSessions } from '../src/protocol/retention.ts';
import { deleteExpiredOptions } from './activity-options.ts';

/** Deletes an app's sessions in which nothing has happened for longer than its retention, some at a time. */
export async function retainSessions(input: RetainSessions): Promise<{ deleted: number }> {
  let deleted = 0;
  for (;;) {
    const expired = await scheduleActivity<ExpiredSessions>(
      DELETE_EXPIRED_SESSIONS,
      [input],
      deleteExpiredOptions(input.app),
    );
    deleted += expired.deleted;
    if (!expired.more) return { deleted };
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof retainSessions>(input);
  }
}
