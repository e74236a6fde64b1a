import { expect } from 'vitest';
import type { JOBS } from '../../src/contract/jobs.ts';
import type { ContractScene } from './contract-scene.ts';
import type { RowsOf } from './operation-row.ts';

const NONE = `job-${'x'.repeat(22)}`;
const OUTCOME = { response: { url: 'x' }, failed: false };

/** Reasons to refuse any order about a job. */
const REFUSED = {
  HOLDFAST_JOB_NOT_FOUND: { given: () => ({ jobId: NONE }), exit: 1 },
  HOLDFAST_JOB_TOKEN_REFUSED: 'contract/operations.test.ts',
  HOLDFAST_INVALID_JOB: { given: () => ({ jobId: 'job-1' }), exit: 1 },
} as const;

const shown = async ({ env }: ContractScene, jobId: string) => await env.client.jobs.get(jobId);

export const JOB_ROWS: RowsOf<typeof JOBS> = {
  listJobs: {
    given: async (scene) => {
      const names = scene.names();
      const { env } = scene;
      await scene.parked({ ...scene.names(), app: 'other' });
      const turn = await env.send({ ...names, message: 'order order order' });
      await expect.poll(async () => (await env.client.jobs.list(names)).length).toBe(3);
      await expect.poll(async () => (await env.jobs(turn)).length).toBe(3);
      const [, second, third] = await env.client.jobs.list(names);
      await env.client.jobs.cancel(second?.jobId ?? '');
      const after = { since: third?.since ?? 0, jobId: third?.jobId ?? '' };
      return { ...names, status: ['cancelled'], limit: 1, order: 'newest', after };
    },
    ask: async ({ jobs }, list) => ({ jobs: await jobs.list(list) }),
    answer: { jobs: [{ status: 'cancelled', tool: 'order', endedBy: 'operator' }] },
    command: ({ app = '', userId = '', sessionId = '' }) => [
      ...['jobs', 'list', '--app', app, '--user', userId, '--session', sessionId],
      ...['--status', 'cancelled', '--limit', '1'],
    ],
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ limit: 0 }) },
    },
  },
  getJob: {
    given: async (scene) => {
      const { jobId } = await scene.parked();
      const activity = async () => (await shown(scene, jobId))?.address?.activityId;
      await expect.poll(activity).toMatch(/\/wait$/);
      await scene.env.client.jobs.progress(jobId, { value: 0.5, message: 'half' });
      return { jobId };
    },
    ask: ({ jobs }, { jobId }, speaker) => jobs.get(jobId, speaker as { token: string }),
    answer: {
      ...{ tool: 'order', agent: 'desk', app: 'test', status: 'running', mode: 'parked' },
      args: { value: { thing: 'a shed' } },
      progress: { value: 0.5, message: 'half' },
    },
    command: ({ jobId }) => ['jobs', 'show', jobId],
    errors: {
      HOLDFAST_JOB_NOT_FOUND: { given: () => ({ jobId: NONE }), exit: 1 },
      HOLDFAST_INVALID_JOB: { given: () => ({ jobId: 'job-1' }), exit: 1 },
    },
  },
  completeJob: {
    given: async (scene) => ({ jobId: (await scene.parked()).jobId, result: { url: 'x' } }),
    ask: ({ jobs }, { jobId, ...options }, speaker) => jobs.complete(jobId, { ...options, ...speaker }),
    answer: { status: 'ended', job: 'completed', outcome: OUTCOME },
    done: async (scene, { jobId, result }) => {
      const { jobs } = scene.env.client;
      expect(await shown(scene, jobId)).toMatchObject({ status: 'completed', endedBy: 'operator' });
      expect(await jobs.complete(jobId, { result })).toMatchObject({ status: 'duplicate' });
      expect(await jobs.fail(jobId, { error: 'late' })).toMatchObject({ status: 'known', outcome: OUTCOME });
    },
    command: ({ jobId, result }) => ['jobs', 'complete', jobId, '--result', JSON.stringify(result)],
    errors: REFUSED,
  },
  failJob: {
    given: async (scene) => ({ jobId: (await scene.parked()).jobId, error: 'out of paper' }),
    ask: ({ jobs }, { jobId, ...options }, speaker) => jobs.fail(jobId, { ...options, ...speaker }),
    answer: {
      ...{ status: 'ended', job: 'failed' },
      outcome: { response: { error: 'out of paper' }, failed: true },
    },
    command: ({ jobId, error }) => ['jobs', 'fail', jobId, '--error', error],
    errors: { ...REFUSED, HOLDFAST_INVALID_JOB: { given: () => ({ error: ' ' }), exit: 2 } },
  },
  progressJob: {
    given: async (scene) => ({ jobId: (await scene.parked()).jobId, value: 0.25, message: 'a quarter' }),
    ask: ({ jobs }, { jobId, ...options }, speaker) => jobs.progress(jobId, { ...options, ...speaker }),
    answer: { status: 'updated', job: 'running' },
    done: async (scene, { jobId, value, message }) => {
      expect(await shown(scene, jobId)).toMatchObject({ progress: { value, message } });
    },
    errors: {
      ...REFUSED,
      HOLDFAST_INVALID_JOB: { given: () => ({ value: 1.5 }) },
      HOLDFAST_JOB_ENDED: {
        given: async ({ env }, { jobId }) => {
          await env.client.jobs.complete(jobId, { result: 1 });
          return {};
        },
      },
    },
  },
  cancelJob: {
    given: async (scene) => ({ jobId: (await scene.parked()).jobId, reason: 'nobody reads it' }),
    ask: ({ jobs }, { jobId, ...options }) => jobs.cancel(jobId, options),
    answer: {
      ...{ status: 'ended', job: 'cancelled' },
      outcome: { response: { error: 'cancelled: nobody reads it' }, failed: true },
    },
    done: async (scene, { jobId, reason }) => {
      expect(await shown(scene, jobId)).toMatchObject({ endedBy: 'operator', reason });
    },
    command: ({ jobId, reason = '' }) => ['jobs', 'cancel', jobId, '--reason', reason],
    errors: { ...REFUSED, HOLDFAST_INVALID_JOB: { given: () => ({ reason: 'x'.repeat(501) }), exit: 2 } },
  },
};
