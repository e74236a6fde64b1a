import { createRoute } from '@hono/zod-openapi';
import { JobHasEnded, JobNotFound } from '../../client/client-errors.ts';
import type { JobAnswer } from '../../client/jobs/jobs.ts';
import { guarded } from '../access/guarded.ts';
import { subjectOfQuery } from '../access/screen.ts';
import type { GatewayHono, RouteSetting } from '../gateway-app.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import {
  CANCEL_JOB,
  COMPLETE_JOB,
  FAIL_JOB,
  JOB_ANSWER,
  JOB_LIST,
  LIST_JOBS_QUERY,
  PROGRESS_JOB,
  SHOWN_JOB,
} from '../schemas/jobs.ts';
import { JOB, JOB_PATH } from '../schemas/path-parts.ts';
import { operatorOf, ownOrGuarded, speakerOf } from './job-access.ts';

const tags = ['Jobs'];

/** Jobs of long-running calls: listed by operators; ended and told of by the services that do them, too. */
export function jobRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { jobs } = setting.options.client;
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/jobs',
      tags,
      operationId: 'listJobs',
      summary: 'List jobs',
      description:
        'The oldest first unless `order` says otherwise; those that go on unless `status` says otherwise.',
      ...guarded(setting, 'read', subjectOfQuery),
      request: { query: LIST_JOBS_QUERY },
      responses: { 200: json(JOB_LIST, 'A page of them.'), ...problems() },
    }),
    async (context) => {
      const { user, session, afterTime, afterJob, ...query } = context.req.valid('query');
      const listed = await jobs.list({
        ...query,
        ...(user === undefined ? {} : { userId: user }),
        ...(session === undefined ? {} : { sessionId: session }),
        // One half of a place is the page's begin.
        ...(afterTime === undefined ? {} : { after: { since: afterTime, jobId: afterJob ?? '-' } }),
      });
      return context.json({ jobs: listed }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: JOB,
      tags,
      operationId: 'getJob',
      summary: 'Show a job',
      description: 'With the job’s own token: its status, progress and outcome.',
      ...ownOrGuarded(setting, 'read'),
      request: { params: JOB_PATH },
      responses: { 200: json(SHOWN_JOB, 'The job, by now.'), ...problems() },
    }),
    async (context) => {
      const { jobId } = context.req.valid('param');
      const { token } = speakerOf(context);
      const job = token === undefined ? await jobs.get(jobId) : await jobs.get(jobId, { token });
      if (job === undefined) throw new JobNotFound('there is no such job');
      return context.json(job, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${JOB}/complete`,
      tags,
      operationId: 'completeJob',
      summary: 'End a job with its result',
      description: 'The first outcome counts. Who comes later, or says the same again, is told it, with 200.',
      ...ownOrGuarded(setting, 'operate'),
      request: { params: JOB_PATH, body: jsonBody(COMPLETE_JOB) },
      responses: { 200: json(JOB_ANSWER, 'The outcome that counts.'), ...bodyProblems() },
    }),
    async (context) => {
      const { jobId } = context.req.valid('param');
      const { result } = context.req.valid('json');
      return context.json(await jobs.complete(jobId, { result, ...speakerOf(context) }), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${JOB}/fail`,
      tags,
      operationId: 'failJob',
      summary: 'End a job with an error',
      description: 'As `complete`.',
      ...ownOrGuarded(setting, 'operate'),
      request: { params: JOB_PATH, body: jsonBody(FAIL_JOB) },
      responses: { 200: json(JOB_ANSWER, 'The outcome that counts.'), ...bodyProblems() },
    }),
    async (context) => {
      const { jobId } = context.req.valid('param');
      const { error } = context.req.valid('json');
      return context.json(await jobs.fail(jobId, { error, ...speakerOf(context) }), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${JOB}/progress`,
      tags,
      operationId: 'progressJob',
      summary: 'Tell how far a job has got',
      description: 'Or, with neither, that it goes on. After its end this is a 409 with the outcome.',
      ...ownOrGuarded(setting, 'operate'),
      request: { params: JOB_PATH, body: jsonBody(PROGRESS_JOB, false) },
      responses: { 200: json(JOB_ANSWER, 'It was noted.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const { jobId } = context.req.valid('param');
      const { value, message } = context.req.valid('json') ?? {};
      const answer: JobAnswer = await jobs.progress(jobId, {
        ...(value === undefined ? {} : { value }),
        ...(message === undefined ? {} : { message }),
        ...speakerOf(context),
      });
      if (answer.status === 'refused')
        throw new JobHasEnded(answer.reason ?? 'the job has ended', { details: { job: answer } });
      return context.json(answer, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${JOB}/cancel`,
      tags,
      operationId: 'cancelJob',
      summary: 'Cancel a job',
      description: 'Its tool is told by a worker. Not with the job’s own token.',
      ...guarded(setting, 'operate', async ({ req }) => {
        const missing = () => new JobNotFound('there is no such job');
        const job = await jobs.get(req.param('jobId') ?? '');
        if (job === undefined) throw missing();
        return { names: { app: job.app, userId: job.userId }, missing };
      }),
      request: { params: JOB_PATH, body: jsonBody(CANCEL_JOB, false) },
      responses: { 200: json(JOB_ANSWER, 'The outcome that counts.'), ...bodyProblems() },
    }),
    async (context) => {
      const { jobId } = context.req.valid('param');
      const { reason } = context.req.valid('json') ?? {};
      const options = { ...(reason === undefined ? {} : { reason }), ...operatorOf(context) };
      return context.json(await jobs.cancel(jobId, options), 200);
    },
  );
}
