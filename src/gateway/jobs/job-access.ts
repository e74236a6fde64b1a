import { JobNotFound } from '../../client/client-errors.ts';
import { type JobOperator, type JobSpeaker, MOST_RESULT_BYTES } from '../../contract/jobs.ts';
import type { Permission } from '../../contract/keys.ts';
import { accessRequestOf } from '../access/access-request.ts';
import { authenticated, demand } from '../access/screen.ts';
import type { GatewayContext, GatewayMiddleware } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { takeBody } from '../take-body.ts';

const SECURITY: Record<string, string[]>[] = [{ token: [] }, { jobToken: [] }];

/** A compact JWS. */
const TOKEN = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/**
 * As `guarded`, of what is done to one job: let through are callers with the right in the job's session, and owners of the job's
 * own token, which opens this job and nothing else.
 */
export function ownOrGuarded(setting: RouteSetting, permission: Permission) {
  const { bodyLimit = MOST_RESULT_BYTES } = setting.options;
  return {
    middleware: [ownOrPermitted(setting, permission), takeBody(Math.min(MOST_RESULT_BYTES, bodyLimit))],
    security: SECURITY,
    'x-holdfast-permission': permission,
  };
}

/** By the token of the job that a request's path names, which was found to be good, or as the caller. */
export function speakerOf(context: GatewayContext): JobSpeaker & JobOperator {
  const token = context.get('jobToken');
  return token === undefined ? operatorOf(context) : { token };
}

export function operatorOf(context: GatewayContext): JobOperator {
  const { person } = context.get('principal');
  return person === undefined ? {} : { person };
}

function ownOrPermitted({ options, limits }: RouteSetting, permission: Permission): GatewayMiddleware {
  const { access, client } = options;
  return async (context, next) => {
    const jobId = context.req.param('jobId') ?? '';
    const principal = await access.authenticate(accessRequestOf(context));
    const token = principal === 'unauthenticated' ? tokenOf(context) : undefined;
    if (token === undefined) {
      const missing = () => new JobNotFound('there is no such job');
      await authenticated({ access, limits }, context);
      const job = await client.jobs.get(jobId);
      if (job === undefined) throw missing();
      demand(context, permission, { names: { app: job.app, userId: job.userId }, missing });
    } else {
      // Before anything of the body is read; a job that its call has not begun yet has no row.
      await client.jobs.get(jobId, { token });
      context.set('jobToken', token);
      limits.spend({ name: `job:${jobId}` });
    }
    await next();
  };
}

function tokenOf(context: GatewayContext): string | undefined {
  const { headers, repeated } = accessRequestOf(context);
  if (repeated.has('authorization')) throw new RequestRefused('HOLDFAST_GATEWAY_UNAUTHENTICATED');
  return TOKEN.exec(headers.get('authorization') ?? '')?.[1];
}
