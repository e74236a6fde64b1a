import { getJob } from '../../contract/jobs.ts';
import type { Permission } from '../../contract/lists.ts';
import type { GatewayContext, GatewayMiddleware } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { accessRequestOf } from './access-request.ts';
import { authenticated, demand, type SubjectOf } from './screen.ts';

/** A compact JWS. */
const TOKEN = /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i;

/** Lets through callers with the right in the job's session, and owners of the job's own token, which opens this job and nothing else. */
export function ownOrPermitted(
  { options, limits }: RouteSetting,
  permission: Permission | readonly Permission[],
  find: SubjectOf,
): GatewayMiddleware {
  const { access, client } = options;
  return async (context, next) => {
    const principal = await access.authenticate(accessRequestOf(context));
    const token = principal === 'unauthenticated' ? tokenOf(context) : undefined;
    if (token === undefined) {
      await authenticated({ access, limits }, context);
      demand(context, permission, await find(context));
    } else {
      const jobId = context.req.param('jobId') ?? '';
      // Before anything of the body is read; a job that its call has not begun yet has no row.
      await client.call(getJob, { jobId }, { by: 'token', token });
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
