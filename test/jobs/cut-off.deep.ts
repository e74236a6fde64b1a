import proto from '@temporalio/proto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callKeyOf, invocationIdOf } from '../../src/protocol/identity.ts';
import { JOB_APP } from '../setup/job-apps.ts';
import { JobStage } from '../setup/job-stage.ts';
import { Findings } from '../soak/violation.ts';
import { checkJob } from './checks.ts';
import { gatherJobs, untilAtRest } from './evidence.ts';
import { followsOrders } from './model.ts';
import { OrderedJob } from './ordered-job.ts';

const names = (sessionId: string) => ({ app: JOB_APP, userId: 'ada', sessionId });
const MESSAGE = 'm1';
const CANCEL_REQUESTED = proto.temporal.api.enums.v1.EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED;

/** Of the first call of a session's first turn. */
function callKey(sessionId: string): string {
  const { app, userId } = names(sessionId);
  return callKeyOf(invocationIdOf(app, userId, sessionId, MESSAGE), 1, 0);
}

const SESSIONS = ['told before', 'told behind'] as const;

let stage: JobStage;
beforeAll(async () => {
  const dooms = Object.fromEntries(SESSIONS.map((session) => [callKey(session), 'after detach' as const]));
  stage = await JobStage.open(followsOrders(), dooms);
});
afterAll(() => stage.close());

test.each(SESSIONS)(
  'a turn that is terminated before it has told its model that a job goes on: what is %s is told once, by the next turn [job.detach]',
  async (sessionId) => {
    await stage.worker.start();
    const job = await OrderedJob.begin(stage, 'order', { goesOn: true }, { sessionId, messageId: MESSAGE });
    await job.handedOut();
    await stage.worker.stop();
    const handle = stage.temporal.workflow.getHandle(job.workflowId);
    const finish = () => job.callBack('complete', { result: { n: 1, pages: 7 } });
    if (sessionId === 'told before') await finish();
    await handle.terminate('by the test');
    // Services call again, who can't know whether they were heard.
    await finish();
    await stage.worker.start();
    await job.send([]);
    await untilAtRest(stage, job.names);
    await finish();
    await untilAtRest(stage, job.names);
    await stage.worker.stop();
    const [evidence] = await gatherJobs(stage, job.names);
    if (evidence === undefined) throw new Error('its session has a job');
    expect(evidence.row).toMatchObject({ mode: 'detached', status: 'completed' });
    const found = new Findings(sessionId);
    checkJob(evidence, job.answered, { runs: 1, answers: 1 }, found);
    expect(found.violations).toEqual([]);
  },
  120_000,
);

test('a turn that is cancelled while the worker of its call dies: who does the job is told [job.cancel]', async () => {
  await stage.worker.start();
  const job = await OrderedJob.begin(stage, 'order', { holds: true });
  await job.ran();
  const handle = stage.temporal.workflow.getHandle(job.workflowId);
  await handle.cancel();
  await expect
    .poll(async () => (await handle.fetchHistory()).events?.map(({ eventType }) => eventType), {
      interval: 20,
    })
    .toContain(CANCEL_REQUESTED);
  // It hears of the cancellation by a heartbeat only.
  await stage.worker.kill();
  await untilAtRest(stage, job.names);
  await stage.worker.stop();
  const [evidence] = await gatherJobs(stage, job.names);
  expect(evidence?.row).toMatchObject({ mode: 'started', status: 'cancelled' });
  expect(evidence?.notes.filter(({ what }) => what === 'told')).toHaveLength(1);
});

test('a turn that is cancelled as its job was: who does the job is told [job.cancel]', async () => {
  await stage.worker.start();
  const job = await OrderedJob.begin(stage, 'order', { holds: true });
  const { jobId } = await job.ran();
  await stage.worker.stop();
  await stage.client.jobs.cancel(jobId, { reason: 'too dear' });
  await stage.temporal.workflow.getHandle(job.workflowId).cancel();
  await stage.worker.start();
  await untilAtRest(stage, job.names);
  await stage.worker.stop();
  const [evidence] = await gatherJobs(stage, job.names);
  expect(evidence?.row).toMatchObject({ status: 'cancelled', endedBy: 'operator' });
  expect(evidence?.notes.filter(({ what }) => what === 'told')).toHaveLength(1);
});
