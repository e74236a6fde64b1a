import { expect } from 'vitest';
import type { JobRow } from '../../src/contract/jobs.ts';
import type { JobStage } from '../setup/job-stage.ts';
import { OrderedJob, TOOL_OF, type Way } from './ordered-job.ts';

/** What somebody says of a job, by the way in which it gets its outcome. */
export const RESULT = { n: 1, pages: 7 };
export const OTHER = { n: 1, pages: 8 };

export interface Situation {
  name: string;
  /** Requirements that it shows, beside that of the way. */
  shows: string;
  /** Played in `npm test`, too. */
  isQuick?: true;
  begin: (stage: JobStage, way: Way) => Promise<OrderedJob>;
  /** Happens once to all jobs of the situation, when they are waited for. */
  happens?: (stage: JobStage) => Promise<void>;
  finish: (job: OrderedJob, way: Way, stage: JobStage) => Promise<void>;
  /** Behind that. */
  afterwards?: (stage: JobStage, jobs: Readonly<Record<Way, OrderedJob>>) => Promise<void>;
  /** How the job has ended. */
  expected: (way: Way) => { status: JobRow['status']; by: JobRow['endedBy'] | undefined; response?: object };
  /** How often its tool may have run, where that is more than once. */
  runs?: (way: Way) => number;
  /** How often its call may be answered in the transcript, where that is more than once. */
  answers?: (way: Way) => number;
}

const ENDER = { message: 'message', callback: 'callback', poll: 'poll', inProcess: 'tool' } as const;

const completed = (way: Way) => ({ status: 'completed', by: ENDER[way], response: RESULT }) as const;

async function waiting(stage: JobStage, way: Way): Promise<OrderedJob> {
  const job = await OrderedJob.begin(stage, TOOL_OF[way]);
  await job.waits(way);
  return job;
}

/** One whose turn is over; one in process is its call, so that its turn waits. */
async function goingOn(stage: JobStage, way: Way): Promise<OrderedJob> {
  if (way === 'inProcess') return await waiting(stage, way);
  const job = await OrderedJob.begin(stage, TOOL_OF[way], { goesOn: true });
  await job.turns[0]?.result();
  await job.waits(way);
  return job;
}

const finish = (job: OrderedJob, way: Way) => job.finish(way, RESULT);

/** Of a job that has ended: its outcome comes too late, and its service calls back beside. */
async function late(job: OrderedJob, way: Way): Promise<void> {
  await job.ended();
  if (way !== 'callback') await job.finish(way, RESULT);
  await job.callBack('complete', { result: RESULT });
}

/** One that loses its worker goes on from its last details; the others have handed out their job. */
const resumed = (way: Way) => (way === 'inProcess' ? 2 : 1);
/** A message behind the end begins a turn with the outcome. */
const toldAgain = (way: Way) => (way === 'message' ? 2 : 1);

export const SITUATIONS: readonly Situation[] = [
  { name: 'undisturbed', shows: '[job.park]', isQuick: true, begin: waiting, finish, expected: completed },
  {
    name: 'while its worker is killed',
    shows: '[job.park]',
    begin: waiting,
    happens: (stage) => stage.worker.kill(),
    finish,
    expected: completed,
    runs: resumed,
  },
  {
    name: 'while the server is killed and starts again',
    shows: '[job.park]',
    begin: waiting,
    happens: (stage) => stage.restartServer(),
    finish,
    expected: completed,
    runs: resumed,
  },
  {
    name: 'behind its turn, while worker and server are killed',
    isQuick: true,
    shows: '[job.detach]',
    begin: goingOn,
    async happens(stage) {
      await Promise.all([stage.worker.kill(), stage.restartServer()]);
    },
    finish,
    expected: completed,
    // A server that was away has lost what the last run has told it.
    runs: (way) => (way === 'inProcess' ? 3 : 1),
  },
  {
    name: 'while the server is away',
    shows: '[job.park]',
    async begin(stage, way) {
      // Nobody calls again: it is the next look that finds the outcome, and polls look often.
      const job = await OrderedJob.begin(stage, TOOL_OF[way === 'callback' ? 'poll' : way]);
      await job.waits(way === 'callback' ? 'poll' : way);
      return job;
    },
    happens: (stage) => stage.killServer(),
    async finish(job, way) {
      if (way === 'message') await expect(job.answer(RESULT)).rejects.toThrow();
      else await job.finish(way, RESULT);
    },
    async afterwards(stage, { message }) {
      await stage.startServer();
      await message.answer(RESULT);
    },
    expected: completed,
    runs: (way) => (way === 'inProcess' ? 3 : 1),
  },
  {
    name: 'with no worker up',
    shows: '[job.park]',
    begin: waiting,
    happens: (stage) => stage.worker.stop(),
    finish,
    afterwards: (stage) => stage.worker.start(),
    expected: completed,
    runs: resumed,
  },
  {
    name: 'before anybody waits for it',
    isQuick: true,
    shows: '[job.callback]',
    async begin(stage, way) {
      const job = await OrderedJob.begin(stage, TOOL_OF[way], { holds: true });
      await job.ran();
      return job;
    },
    async finish(job, way, stage) {
      // Nobody else has the outcome of a job in process; its service can be quicker all the same.
      await job.finish(way === 'inProcess' ? 'callback' : way, RESULT);
      const { jobId } = await job.row();
      if (way === 'inProcess') stage.service.finish(jobId, OTHER);
      else stage.service.letGo(jobId);
    },
    expected: (way) => ({ ...completed(way), by: way === 'inProcess' ? 'callback' : ENDER[way] }),
  },
  {
    name: 'twice, and otherwise',
    shows: '[job.callback]',
    begin: waiting,
    async finish(job, way) {
      await Promise.all([finish(job, way), finish(job, way), job.callBack('complete', { result: OTHER })]);
      await job.callBack('fail', { error: 'too late' });
    },
    expected: () => ({ status: 'completed', by: undefined }),
    answers: (way) => (way === 'message' ? 3 : 1),
  },
  {
    name: 'after its call was cancelled',
    shows: '[job.cancel]',
    begin: waiting,
    async finish(job, way, stage) {
      const { callKey } = await job.row();
      await stage.client.cancelCall(job.names, { callKey });
      await late(job, way);
    },
    expected: (way) => ({ status: 'cancelled', by: way === 'inProcess' ? 'turn' : 'operator' }),
    answers: toldAgain,
  },
  {
    name: 'after its time was over',
    shows: '[job.timeouts]',
    async begin(stage, way) {
      const tool = way === 'inProcess' ? 'build_soon' : way === 'poll' ? 'watch' : 'soon';
      const job = await OrderedJob.begin(stage, tool);
      if (way === 'poll') await job.waits(way);
      return job;
    },
    async finish(job, way) {
      if (way === 'poll') await job.expire();
      await late(job, way);
    },
    expected: (way) => ({
      status: 'timed_out',
      by: 'timeout',
      ...(way === 'poll' ? {} : { response: { n: 1, late: true } }),
    }),
    answers: toldAgain,
  },
  {
    name: 'when its turn is over and the session has had another one',
    shows: '[job.detach]',
    async begin(stage, way) {
      const job = await OrderedJob.begin(stage, TOOL_OF[way], { goesOn: true });
      // A job in process is its call: it ends with its turn.
      if (way === 'inProcess') {
        await job.waits(way);
        await stage.client.interrupt(job.names);
      }
      await job.turns[0]?.result();
      if (way !== 'inProcess') await job.waits(way);
      await (await job.send([])).result();
      return job;
    },
    async finish(job, way) {
      await finish(job, way);
      if (way === 'inProcess') await job.callBack('complete', { result: RESULT });
    },
    expected: (way) => (way === 'inProcess' ? { status: 'cancelled', by: 'turn' } : completed(way)),
  },
];
