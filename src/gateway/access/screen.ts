import type { Permission } from '../../contract/lists.ts';
import type { GatewayContext, GatewayMiddleware } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { Access, AccessRequest, Need, Principal } from './access.ts';
import { accessRequestOf } from './access-request.ts';
import { READMIT_AFTER } from './admission-watch.ts';
import type { CallerLimits } from './caller-limits.ts';

/** Paths that people open in a browser. */
const PAGES = /^\/(a\/|inbox(\/|$))/;

/** Keeps out what no route should see. */
export function screen(access: Access): GatewayMiddleware {
  return async (context, next) => {
    const request = accessRequestOf(context);
    if (access.screen(visitOf(request)) !== undefined) throw new RequestRefused('HOLDFAST_GATEWAY_FORBIDDEN');
    checkTarget(request.url, context.req.path);
    await next();
  };
}

/** The middleware that every caller passes. */
export interface Gate {
  access: Access;
  limits: CallerLimits;
}

/** The owner of the things that a request is about. */
export interface Subject {
  names: Pick<Need, 'app' | 'userId'>;
  /** The error for callers who may not see the thing. */
  missing: () => Error;
  /** The error for callers who may see a part of the thing only. */
  narrower?: string;
}

/** Finds out what a request is about; asked only for callers who are known. */
export type SubjectOf = (context: GatewayContext) => Subject | Promise<Subject>;

/**
 * Lets a request through whose principal may do this to what it is about: what its path names, unless the route says more.
 *
 * @param permission or several, one of which is enough.
 */
export function permitted(
  gate: Gate,
  permission: Permission | readonly Permission[],
  find: SubjectOf = subjectOfPath,
): GatewayMiddleware {
  return async (context, next) => {
    const began = performance.now();
    await authenticated(gate, context);
    const subject = await find(context);
    demand(context, permission, subject);
    const readmit = async () => {
      context.set('principal', await principalOf(gate.access, context));
      demand(context, permission, subject);
    };
    context.set('readmit', readmit);
    await next();
    // A caller that has waited long may have lost its rights meanwhile. Finished work stays.
    if (context.req.method === 'GET' && performance.now() - began > READMIT_AFTER) await readmit();
  };
}

/** @throws RequestRefused, or the error of `missing`, where the principal may do none of these. */
export function demand(
  context: GatewayContext,
  permission: Permission | readonly Permission[],
  { names, missing, narrower }: Subject,
): void {
  const principal = context.get('principal');
  const verdicts = [permission].flat().map((each) => principal.may({ permission: each, ...names }));
  if (verdicts.includes('allowed')) return;
  const isForbidden = verdicts.includes('forbidden');
  const { app } = names;
  const needed = { permission: [permission].flat().join(' or '), ...(app === undefined ? {} : { app }) };
  context.set('denied', { reason: isForbidden ? 'forbidden' : 'hidden', ...needed });
  if (isForbidden) {
    throw new RequestRefused('HOLDFAST_GATEWAY_FORBIDDEN', narrower && `forbidden: ${narrower}`);
  }
  throw missing();
}

export function subjectOf({ app, userId }: { [name in 'app' | 'userId']?: string | undefined }): Subject {
  const names = { ...(app === undefined ? {} : { app }), ...(userId === undefined ? {} : { userId }) };
  return { names, missing: () => new RequestRefused('HOLDFAST_SESSION_NOT_FOUND') };
}

/** Finds out who asks, and has them ask no more often than they may. @throws RequestRefused */
export async function authenticated({ access, limits }: Gate, context: GatewayContext) {
  const principal = await principalOf(access, context);
  context.set('principal', principal);
  limits.spend(principal);
  return principal;
}

async function principalOf(access: Access, context: GatewayContext): Promise<Principal> {
  const principal = await access.authenticate(accessRequestOf(context));
  if (typeof principal !== 'string') return principal;
  if (principal === 'forbidden') throw new RequestRefused('HOLDFAST_GATEWAY_FORBIDDEN');
  throw new RequestRefused('HOLDFAST_GATEWAY_UNAUTHENTICATED', undefined, { 'www-authenticate': 'Bearer' });
}

/** Of a list that its query narrows. */
export function subjectOfQuery({ req }: GatewayContext): Subject {
  const [app, userId] = [req.query('app'), req.query('user')];
  if (app !== undefined && userId !== undefined) return subjectOf({ app, userId });
  const narrower =
    'who may not see all apps names one by the parameter app, and who may see one user’s sessions that one by user';
  return { ...subjectOf({ app, userId }), narrower };
}

export function subjectOfPath({ req }: GatewayContext): Subject {
  return subjectOf({ app: req.param('app'), userId: req.param('user') });
}

function checkTarget({ username, password }: URL, path: string): void {
  if (username !== '' || password !== '') {
    throw new RequestRefused(
      'HOLDFAST_GATEWAY_BAD_REQUEST',
      'target: expected a URL without a user and a password',
    );
  }
  try {
    decodeURIComponent(path);
  } catch {
    throw new RequestRefused(
      'HOLDFAST_GATEWAY_BAD_REQUEST',
      'path: expected URI-encoded UTF-8, as encodeURIComponent gives',
    );
  }
}

/**
 * A request as access should look at it. A form of a page that tells no referrer has `Origin: null`, and beside it the browser’s own
 * word that it was on this very site.
 */
function visitOf(request: AccessRequest): AccessRequest {
  const { method, url, headers } = request;
  const isForm = method === 'POST' && PAGES.test(url.pathname);
  if (!isForm || headers.get('origin') !== 'null' || headers.get('sec-fetch-site') !== 'same-origin') {
    return request;
  }
  const kept = new Headers(headers);
  kept.delete('origin');
  return { ...request, headers: kept };
}
