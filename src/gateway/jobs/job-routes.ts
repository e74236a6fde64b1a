import { JobHasEnded, JobNotFound } from '../../client/client-errors.ts';
import { cancelJob, completeJob, failJob, getJob, listJobs, progressJob } from '../../contract/jobs.ts';
import { guarded } from '../access/guarded.ts';
import { subjectOfQuery } from '../access/screen.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import { operatorOf, ownOrGuarded, speakerOf } from './job-access.ts';

/** Jobs of long-running calls: listed by operators; ended and told of by the services that do them, too. */
export function jobRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { jobs } = setting.options.client;
  const missing = () => new JobNotFound('there is no such job');
  const own = ownOrGuarded(setting, 'operate');
  serve(app, listJobs, guarded(setting, 'read', subjectOfQuery), async (list) => ({
    jobs: await jobs.list(list),
  }));
  serve(app, getJob, ownOrGuarded(setting, 'read'), async ({ jobId }, context) => {
    const { token } = speakerOf(context);
    const job = token === undefined ? await jobs.get(jobId) : await jobs.get(jobId, { token });
    if (job === undefined) throw missing();
    return job;
  });
  serve(app, completeJob, own, async ({ jobId, ...result }, context) =>
    jobs.complete(jobId, { ...result, ...speakerOf(context) }),
  );
  serve(app, failJob, own, async ({ jobId, ...error }, context) =>
    jobs.fail(jobId, { ...error, ...speakerOf(context) }),
  );
  serve(app, progressJob, own, async ({ jobId, ...progress }, context) => {
    const answer = await jobs.progress(jobId, { ...progress, ...speakerOf(context) });
    if (answer.status === 'refused')
      throw new JobHasEnded(answer.reason ?? 'the job has ended', { details: { job: answer } });
    return answer;
  });
  const anyJob = guarded(setting, 'operate', async ({ req }) => {
    const job = await jobs.get(req.param('jobId') ?? '');
    if (job === undefined) throw missing();
    return { names: { app: job.app, userId: job.userId }, missing };
  });
  serve(app, cancelJob, anyJob, async ({ jobId, ...why }, context) =>
    jobs.cancel(jobId, { ...why, ...operatorOf(context) }),
  );
}
