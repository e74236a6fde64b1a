import { isGrpcServiceError, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import proto from '@temporalio/proto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobReceipt } from '../../src/contract/jobs.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { JobTask } from '../../src/protocol/job.ts';
import type { MessageReceipt } from '../../src/protocol/message.ts';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { inTier } from '../setup/tier.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const call: fc.Arbitrary<ScriptedCall> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ tool: 'report', job: {} }) },
  { weight: 2, arbitrary: fc.constant({ tool: 'report', job: { undeclared: true } } as const) },
  { weight: 1, arbitrary: fc.constant({ tool: 'report', job: { looksEvery: 20 } }) },
  { weight: 1, arbitrary: fc.constant({ tool: 'report', job: { timeLeft: 300 } }) },
  { weight: 2, arbitrary: fc.constant({ tool: 'go_on', job: { detached: true } } as const) },
  { weight: 1, arbitrary: fc.constant({ tool: 'plain' }) },
);

const index = fc.nat(2);
const said = fc.constantFrom(1, 2);
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('callback' as const), index, said }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      way: fc.constantFrom('signal', 'update'),
      id: fc.constantFrom('wire', 'own'),
      willContinue: fc.boolean(),
      index,
      said,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('progress' as const), index, said }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancelCall' as const), index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('expire' as const), index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancelJob' as const), index }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'interrupt' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancel' as const }) },
);
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

const FAILED_PRECONDITION = 9;
const NOT_FOUND = 5;
const ENDED: ReadonlySet<number> = new Set([NOT_FOUND, FAILED_PRECONDITION]);

function grpcCode(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error ? grpcCode(error.cause) : undefined;
}

/** What whoever speaks for a job was told. */
interface Told {
  jobId: string;
  isFirst: boolean;
}

const jobHandle = (turn: GatedTurn, place: number) =>
  environment.temporal.workflow.getHandle(jobWorkflowIdOf(turn.workflowId, turn.callKey(place)));

async function act(turn: GatedTurn, one: Action, n: number, told: Told[]): Promise<void> {
  try {
    await carryOut(turn, one, n, told);
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError || error instanceof WorkflowNotFoundError) return;
    // The turn has ended, before this came or just when it did.
    if (!ENDED.has(grpcCode(error) ?? 0)) throw error;
  }
}

async function carryOut(turn: GatedTurn, one: Action, n: number, told: Told[]): Promise<void> {
  switch (one.kind) {
    case 'callback': {
      const jobId = turn.jobId(one.index);
      if (!environment.jobs.rows.has(jobId)) return;
      told.push({
        jobId,
        isFirst: await environment.jobs.finish(jobId, 'completed', { called: one.said }),
      });
      return;
    }
    case 'message': {
      const callKey = turn.callKey(one.index);
      const functionResponse = {
        id: one.id === 'own' ? `adk-${callKey}` : `id-1-${one.index}`,
        name: 'report',
        response: { said: one.said },
        ...(one.willContinue ? { willContinue: true } : {}),
      };
      const payload = { messageId: `m${n}`, message: { parts: [{ functionResponse }] } };
      if (one.way === 'signal') return await turn.signal('sendMessage', payload);
      const { jobs = [] } = await turn.update<MessageReceipt>('sendMessage', payload);
      told.push(
        ...jobs.filter(isOutcome).map(({ jobId, status }) => ({ jobId, isFirst: status === 'ended' })),
      );
      return;
    }
    case 'progress': {
      const jobId = turn.jobId(one.index);
      const payload = { v: 1, jobId, progress: { value: one.said / 2, at: n } };
      await turn.signal('holdfast.progress', payload);
      return;
    }
    case 'cancelCall':
      await turn.update('cancelCall', { callKey: turn.callKey(one.index), reason: 'no' });
      return;
    case 'expire':
      await turn.update('holdfast.expireJob', { jobId: turn.jobId(one.index) });
      return;
    case 'cancelJob':
      await jobHandle(turn, one.index).cancel();
      return;
    case 'restart':
      await environment.stopWorker();
      await environment.startWorker();
      return;
    case 'interrupt':
      return await turn.signal('interrupt', {});
    case 'cancel':
      await turn.handle.cancel();
      return;
  }
}

const isOutcome = ({ status }: JobReceipt) => ['ended', 'duplicate', 'known'].includes(status);

/** Answers all jobs that still go on, until the turn and its jobs have ended. */
async function finish(turn: GatedTurn, calls: readonly ScriptedCall[]): Promise<void> {
  const isDetached = (place: number) => calls[place]?.job?.detached === true;
  let isOver = false;
  const ended = turn
    .result()
    .catch(() => undefined)
    .then(async () => {
      for (const place of calls.keys()) {
        if (isDetached(place))
          await jobHandle(turn, place)
            .result()
            .catch(() => undefined);
      }
      isOver = true;
    });
  while (!isOver) {
    for (const place of calls.keys()) {
      const row = environment.jobs.rows.get(turn.jobId(place));
      if (row?.address !== undefined) {
        await environment.jobs.finish(turn.jobId(place), 'completed', { at: 'last' });
      }
    }
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 20))]);
  }
}

/** The tasks of a workflow's history, by the job. */
async function tasksOf(workflowId: string): Promise<JobTask[]> {
  const handle = environment.temporal.workflow.getHandle(workflowId);
  const { events = [] } = await handle.fetchHistory().catch(() => ({ events: [] }));
  return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    const data = scheduled?.input?.payloads?.[0]?.data;
    const { job } = JSON.parse(Buffer.from(data ?? '').toString() || '{}') as { job?: JobTask };
    return job === undefined ? [] : [job];
  });
}

const UNHANDLED_COMMAND =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
const RUNS = Number(process.env.HOLDFAST_JOBS_RUNS ?? inTier(1, 12));
/** Milliseconds, of the time that a test has. */
const ENOUGH = 120_000;

test('whatever happens in whatever order, a job has one end and one outcome, and all are told that [job.callback]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 3 }),
      fc.array(action, { maxLength: 8 }),
      fc.boolean(),
      async (calls, actions, isHeld) => {
        const turn = environment.turn([calls]);
        const release = isHeld ? turn.hold('report') : () => undefined;
        await turn.start();
        await expect.poll(() => turn.inputs('holdfast.callModel').length).toBeGreaterThan(0);
        const told: Told[] = [];
        for (const [n, one] of actions.entries()) {
          // What a worker held when it ended is tried again a minute later only.
          if (n === 3 || one.kind === 'restart') release();
          await act(turn, one, n, told);
        }
        release();
        await finish(turn, calls);

        const history = await turn.history();
        const failed = history.filter(({ workflowTaskFailedEventAttributes: task }) => {
          return task && task.cause !== UNHANDLED_COMMAND;
        });
        expect(failed).toEqual([]);
        for (const place of calls.keys()) {
          const jobId = turn.jobId(place);
          const row = environment.jobs.rows.get(jobId);
          const ofJob = ({ jobId: id }: JobTask) => id === jobId;
          const inTurn = (await tasksOf(turn.workflowId)).filter(ofJob);
          const apart = (await tasksOf(jobWorkflowIdOf(turn.workflowId, turn.callKey(place)))).filter(ofJob);
          const tasks = [...inTurn, ...apart];
          // It ends once where somebody waited for it, and nobody waits twice.
          const ends = tasks.filter((task) => task.do === 'end');
          expect(ends).toHaveLength(tasks.length > 0 ? 1 : 0);
          expect(inTurn.length === 0 || apart.length === 0).toBe(true);
          if (tasks.length > 0) expect(row?.status).not.toBe('running');
          const outcomes = new Set(
            [...(row?.settled ?? []), ...(row?.delivered ?? [])].map((one) => JSON.stringify(one)),
          );
          expect(outcomes.size).toBeLessThanOrEqual(1);
          if (ends.length > 0) expect([...outcomes]).toEqual([JSON.stringify(row?.response)]);
          expect(told.filter((one) => one.jobId === jobId && one.isFirst).length).toBeLessThanOrEqual(1);
        }
        const status = await turn.status();
        expect(status).toMatchObject({ jobs: [], running: [] });
      },
    ),
    { numRuns: RUNS, interruptAfterTimeLimit: ENOUGH },
  );
});
