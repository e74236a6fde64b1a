import { Client, ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import type { App } from '../src/app/app.ts';
import type { RetainSessions } from '../src/contract/sessions.ts';
import { PROTOCOL_VERSION } from '../src/contract/version.ts';
import { defined } from '../src/protocol/json.ts';
import { RETAIN_SESSIONS } from '../src/protocol/names.ts';
import { retentionId } from '../src/protocol/retention.ts';

const DAY = 24 * 60 * 60 * 1000;
const MINUTE = 60 * 1000;

export interface RetentionSchedules {
  apps: Iterable<App>;
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  dataConverter: DataConverter | undefined;
}

/**
 * Has Temporal start `retainSessions` for each app that names a retention: once a day, more often where sessions are kept
 * for less than four days. The schedule stays when its workers are gone; what an app's code says when it runs is what counts.
 */
export async function scheduleRetention({
  apps,
  connection,
  namespace,
  taskQueue,
  dataConverter,
}: RetentionSchedules): Promise<void> {
  const { schedule } = new Client({
    connection,
    namespace,
    ...defined({ dataConverter }),
  });
  for (const { name, durable } of apps) {
    const { retention } = durable;
    if (retention === undefined) continue;
    const every = Math.max(MINUTE, Math.min(DAY, Math.floor(retention / 4)));
    const input: RetainSessions = { v: PROTOCOL_VERSION, app: name };
    const spec = { intervals: [{ every }] };
    const policies = { overlap: ScheduleOverlapPolicy.SKIP };
    const action = {
      type: 'startWorkflow' as const,
      workflowType: RETAIN_SESSIONS,
      workflowId: retentionId(name),
      taskQueue,
      args: [input],
      staticSummary: `retention of ${name}`,
    };
    try {
      await schedule.create({ scheduleId: retentionId(name), spec, policies, action });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await schedule
        .getHandle(retentionId(name))
        .update((previous) => ({ state: previous.state, spec, policies, action }));
    }
  }
}
