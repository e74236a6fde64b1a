import type { WorkflowHandle } from '@temporalio/client';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { JobStatus } from '../../src/contract/jobs.ts';
import { callKeyOf, invocationIdOf, jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { ToolJobStatus, WaitingJob } from '../../src/protocol/job.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { RUN_AGAIN } from '../../src/tools/job-options.ts';
import { stepCalls } from './scripts.ts';
import { SHORT_RUNS } from './temporal-server.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

/** How far the jobs of `survey` have got. */
const surveys = new Map<string, 'asks' | 'answered'>();

const begins = { description: 'begins a report', execute: () => undefined };
const tools = [
  new LongRunningFunctionTool({ ...begins, name: 'report', cancel: () => undefined }),
  new LongRunningFunctionTool({ ...begins, name: 'report_soon', deadline: 1_000 }),
  new LongRunningFunctionTool({
    name: 'order',
    description: 'orders',
    execute: () => ({ status: 'pending' }),
  }),
  new LongRunningFunctionTool({
    name: 'survey',
    description: 'asks a person in the middle of its job',
    pollInterval: 1_000,
    execute: async (_args, context) => {
      if (surveys.get(context.job.id) !== 'asks') return;
      await context.requestInput({ message: 'Which size?' });
      surveys.set(context.job.id, 'answered');
    },
    poll: ({ id }) => {
      if (surveys.get(id) === 'answered') return { done: true };
      surveys.set(id, 'asks');
      return RUN_AGAIN;
    },
  }),
  tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) }),
];

/** New ones for each environment: an agent keeps the connection to the model that it has asked. */
export const jobKindApps = () => [
  new App({ name: 'jobs', rootAgent: new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools }) }),
];

type Act = (scene: {
  environment: TurnEnvironment;
  names: SessionNames;
  handle: WorkflowHandle;
  jobs: WaitingJob[];
}) => Promise<unknown>;

/** Asks until there is an answer, outside of Vitest. */
export async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The jobs that a turn waits for, once there are so many and the store knows who waits. */
const parked = ({ store }: TurnEnvironment, handle: WorkflowHandle, count: number) =>
  until(async () => {
    const { jobs } = await handle.query<TurnStatus>('status');
    const rows = await Promise.all(jobs.map(({ jobId }) => store.jobs.find(jobId)));
    const areWaitedFor = rows.every((row) => row?.address?.activityId.endsWith('/wait'));
    return jobs.length === count && areWaitedFor ? jobs : undefined;
  });

async function start(environment: TurnEnvironment, names: SessionNames): Promise<WorkflowHandle> {
  const sent = await environment.client.sendMessage({ ...names, message: 'go', messageId: 'go' });
  return environment.temporal.workflow.getHandle(sent.workflowId);
}

/** A turn of these calls, and what is done once so many of its jobs are waited for. */
function parking(steps: Parameters<typeof stepCalls>[0], act: Act, count = 1): TurnKind {
  return {
    app: 'jobs',
    script: stepCalls(steps),
    async drive(environment, names) {
      const handle = await start(environment, names);
      const jobs = await parked(environment, handle, count);
      await act({ environment, names, handle, jobs });
      await handle.result().catch(() => undefined);
    },
  };
}

const idOf = ([job]: readonly WaitingJob[]): string => job?.jobId ?? '';

const response = (id: string, said: Record<string, unknown>, fields: object = {}) => ({
  functionResponse: { id, name: 'report', response: said, ...fields },
});

const message = (messageId: string, ...parts: object[]) => ({ messageId, message: { role: 'user', parts } });

/** Orders once, then says what it has: of later turns and of results, too. */
const ordering: GeminiScript = ({ contents = [] }) => {
  const isFirst = contents.every(({ parts = [] }) => parts.every(({ functionCall }) => !functionCall));
  return isFirst ? call('order') : text('noted');
};

const jobWorkflowId = ({ app, userId, sessionId }: SessionNames) =>
  jobWorkflowIdOf(
    `${app}/${userId}/${sessionId}`,
    callKeyOf(invocationIdOf(app, userId, sessionId, 'go'), 1, 0),
  );

/** A turn whose job goes on behind it, and what is done to that; resolves once its session was told. */
function ordered(
  act: (scene: { environment: TurnEnvironment; job: WorkflowHandle; jobId: string }) => Promise<unknown>,
) {
  return async (environment: TurnEnvironment, names: SessionNames) => {
    const handle = await start(environment, names);
    await handle.result();
    const job = environment.temporal.workflow.getHandle(jobWorkflowId(names));
    const { jobId } = await job.query<ToolJobStatus>('status');
    await until(async () => {
      const row = await environment.store.jobs.find(jobId);
      return row?.address?.workflowId === job.workflowId ? row : undefined;
    });
    await act({ environment, job, jobId });
    await job.result().catch(() => undefined);
    await until(async () => (await environment.store.jobs.find(jobId))?.deliveredSeq);
    await handle.result();
  };
}

const ended = ({ store }: TurnEnvironment, jobId: string, status: JobStatus) =>
  until(async () => ((await store.jobs.find(jobId))?.status === status ? status : undefined));

/** Turns that wait for jobs, and jobs that go on behind their turns. */
export const JOB_TURN_KINDS: Record<string, TurnKind> = {
  'job-called-back': parking(
    [[{ name: 'look' }, { name: 'report' }, { name: 'report' }], [{ name: 'look' }]],
    async ({ environment, handle, jobs: [first, second] }) => {
      const progress = { value: 0.5, message: 'half of it', at: 1 };
      await handle.signal('holdfast.progress', { v: 1, jobId: second?.jobId, progress });
      for (const [n, job] of [second, first].entries()) {
        await environment.client.jobs.complete(job?.jobId ?? '', { result: { n } });
      }
    },
    2,
  ),
  'job-timed-out': parking([[{ name: 'report_soon' }]], async () => undefined),
  'job-expired': parking([[{ name: 'report' }]], async ({ handle }) => {
    await handle.executeUpdate('holdfast.expireJob', { args: [] });
  }),
  'job-cancelled': parking([[{ name: 'report' }]], async ({ handle, jobs }) => {
    await handle.executeUpdate('cancelCall', { args: [{ callKey: jobs[0]?.callKey, reason: 'no need' }] });
  }),
  'job-interrupted': parking(
    [[{ name: 'report' }, { name: 'report' }]],
    ({ handle }) => handle.signal('interrupt'),
    2,
  ),
  'job-asks-a-person': {
    app: 'jobs',
    script: stepCalls([[{ name: 'survey' }]]),
    async drive(environment, names) {
      const handle = await start(environment, names);
      await until(async () => {
        const { waiting = [] } = await handle.query<TurnStatus>('status');
        return waiting[0];
      });
      await handle.executeUpdate('provideInput', { args: [{ response: 'large' }] });
      await handle.result();
    },
  },
  'job-and-cancelled-turn': parking([[{ name: 'report' }]], ({ handle }) => handle.cancel()),
  'job-ended-by-message': {
    ...parking(
      [],
      async ({ handle, jobs: [first, second] }) => {
        const id = first?.callId ?? '';
        const send = (payload: object) => handle.executeUpdate('sendMessage', { args: [payload] });
        await send(message('update', response(id, { pages: 1 }, { willContinue: true })));
        await send(message('outcome', { text: 'and now?' }, response(id, { pages: 2 })));
        await send(message('again', response(id, { pages: 3 })));
        await handle.signal('sendMessage', message('other', response(second?.callId ?? '', { pages: 4 })));
      },
      2,
    ),
    script: ({ contents = [] }) =>
      contents.at(-1)?.parts?.[0]?.text === 'go'
        ? calls([{ name: 'report' }, { name: 'report' }])
        : text('noted'),
  },
  'job-and-continues-as-new': {
    ...parking(
      [[{ name: 'report' }], [{ name: 'look' }], [{ name: 'look' }], [{ name: 'look' }]],
      ({ environment, jobs }) => environment.client.jobs.complete(idOf(jobs), { result: { n: 1 } }),
    ),
    serverConfig: SHORT_RUNS,
    recorded: 'first',
  },
  'job-goes-on': {
    app: 'jobs',
    script: ordering,
    drive: async (environment, names) => void (await (await start(environment, names)).result()),
  },
  'job-delivered': {
    app: 'jobs',
    script: ordering,
    drive: ordered(({ environment, jobId }) =>
      environment.client.jobs.complete(jobId, { result: { done: true } }),
    ),
  },
  'tool-job': {
    app: 'jobs',
    script: ordering,
    recordedWorkflow: jobWorkflowId,
    drive: ordered(async ({ environment, job, jobId }) => {
      await job.signal('holdfast.progress', { v: 1, jobId, progress: { value: 0.5, at: 1 } });
      await environment.client.jobs.complete(jobId, { result: { done: true } });
    }),
  },
  'tool-job-cancelled': {
    app: 'jobs',
    script: ordering,
    recordedWorkflow: jobWorkflowId,
    drive: ordered(async ({ environment, job, jobId }) => {
      await job.cancel();
      await ended(environment, jobId, 'cancelled');
    }),
  },
};
