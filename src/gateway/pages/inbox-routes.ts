import { html } from 'hono/html';
import { GATE_KINDS, JOB_ENDS, REQUEST_ENDS } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import type { Principal } from '../access/access.ts';
import { download } from '../artifacts/download.ts';
import { connectPath } from '../connections/waiting-requests.ts';
import { errorAnswer } from '../error-answer.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { editForm, type Visitor } from './answer-forms.ts';
import { type AnswerOptions, answerRequest, requestMain } from './answer-request.ts';
import { disconnect, showConnections } from './connections-page.ts';
import { isEditable } from './edit-fields.ts';
import { isSameToken } from './form-token.ts';
import { mayDecide, mayRead, maySee, visibleJobs, visibleRequests } from './inbox-lists.ts';
import { type InboxFrame, inboxPage, jobList, type Narrowed, requestList } from './inbox-pages.ts';
import { issuerSignInRoutes } from './issuer-sign-in.ts';
import { noSuchPage, pageRoute, sendPage } from './page-answer.ts';
import { noteRefused, refuse } from './page-denial.ts';
import { isOfOwnPage, siteOf } from './page-site.ts';
import { fileList, outcomeCard, planList, requestCard, requestTitle } from './request-view.ts';
import { pageOf, wordsPage } from './shell.ts';
import { type Html, shown } from './shown-text.ts';
import {
  isFromElsewhere,
  isSignInForm,
  nextOf,
  type SignedIn,
  type SignInParts,
  signedIn,
  signIn,
  signInPage,
  signOut,
} from './sign-in.ts';
import { SignInLookups } from './sign-in-lookups.ts';
import { type Form, takeForm } from './take-form.ts';
import { linkOfRequest } from './temporal-links.ts';

const PATH =
  /^\/inbox(\/(decided|jobs|connections|requests\/[^/]+(\/files\/[^/]+)?|files(\/[^/]+){4}|sign-(in(\/(oidc|callback))?|out)))?$/;

type Show = (context: GatewayContext, frame: InboxFrame) => Promise<Response>;
type Take = (context: GatewayContext, frame: InboxFrame, form: Form) => Promise<Response>;

/** Pages for people who sign in: waiting and decided requests, and jobs. */
export function inboxRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { options, keys, issuers } = setting;
  const { records, logger } = options;
  if (records === undefined || !setting.hasInbox) return;
  const parts: SignInParts = { records, keys, issuers, lookups: new SignInLookups(records.keys) };
  const site = (context: GatewayContext) => siteOf(context, options.publicUrl);
  const frameOf = (context: GatewayContext, who: SignedIn): InboxFrame => ({
    ...{ who, site: site(context), about: options.about(), now: Date.now() },
  });

  const admit = (context: GatewayContext, principal: Principal) => {
    context.set('principal', principal);
    setting.limits.spend(principal);
  };
  const known = async (context: GatewayContext) => {
    const who = await signedIn(context, site(context), parts);
    if (who !== undefined) admit(context, who.principal);
    return who;
  };
  /** For signed-in people; others are asked to sign in, and led back. */
  const shownTo = (show: Show) => async (context: GatewayContext) => {
    const who = await known(context);
    if (who !== undefined) return await show(context, frameOf(context, who));
    if (isFromElsewhere(context)) {
      return sendPage(context, pageOf({ title: 'Inbox', main: html`<p>One moment…</p>`, again: true }));
    }
    const next = encodeURIComponent(nextOf(context.req.path));
    return context.redirect(`${site(context).base}/inbox/sign-in?next=${next}`, 303);
  };
  /** A form of somebody who is signed in. */
  const sentBy = (take: Take) => async (context: GatewayContext) => {
    if (!isOfOwnPage(context, site(context))) refuse(context);
    const who = await known(context);
    const form = await takeForm(context);
    if (who === undefined || !isSameToken(form.get('token'), who.formToken)) refuse(context);
    return await take(context, frameOf(context, who), form);
  };
  const route = (path: string, handlers: Parameters<typeof pageRoute>[1]) =>
    app.all(path, pageRoute(logger, handlers));

  const nothing = pageRoute(logger, { GET: async (context) => noSuchPage(context) });
  // First, so that what is noted of a request is the pattern of its page.
  app.all('/inbox/*', async (context, next) =>
    PATH.test(context.req.path) ? await next() : await nothing(context),
  );
  route('/inbox', { GET: shownTo((context, frame) => listRequests(context, frame, setting, 'pending')) });
  route('/inbox/decided', {
    GET: shownTo((context, frame) => listRequests(context, frame, setting, 'decided')),
  });
  route('/inbox/jobs', { GET: shownTo((context, frame) => listJobs(context, frame, setting)) });
  route('/inbox/connections', {
    GET: shownTo((context, frame) => showConnections(context, frame, setting)),
    POST: sentBy((context, frame, form) => disconnect(context, frame, setting, form)),
  });
  route('/inbox/requests/:requestId', {
    GET: shownTo((context, frame) => showRequest(context, frame, setting)),
    POST: sentBy((context, frame, form) => takeAnswer(context, frame, setting, form)),
  });
  route('/inbox/requests/:requestId/files/:name', {
    GET: shownTo(async (context, frame) => {
      const row = await requestOf(context, frame, setting);
      if (row === undefined || !mayRead(frame.who.principal, row)) return noSuchPage(context);
      const { app, userId, sessionId } = row;
      const name = context.req.param('name') ?? '';
      return await download(context, options.client.artifacts, { app, userId, sessionId, name });
    }),
  });
  route('/inbox/files/:app/:user/:session/:name', {
    GET: shownTo(async (context, { who }) => {
      const { app = '', user: userId = '', session: sessionId = '', name = '' } = context.req.param();
      if (!mayRead(who.principal, { app, userId })) return noSuchPage(context);
      return await download(context, options.client.artifacts, { app, userId, sessionId, name });
    }),
  });
  route('/inbox/sign-in', {
    GET: async (context) => {
      const next = nextOf(context.req.query('next'));
      if ((await known(context)) !== undefined) {
        return context.redirect(`${site(context).base}${next}`, 303);
      }
      return sendPage(context, signInPage(context, site(context), parts, { next }));
    },
    POST: async (context) => {
      const here = site(context);
      if (!isOfOwnPage(context, here)) refuse(context);
      const form = await takeForm(context);
      if (!isSignInForm(context, here, form.get('token'))) refuse(context);
      const next = nextOf(form.get('next'));
      const principal = await signIn(context, here, {
        ...{ records, keys, apiKey: form.get('key') ?? '' },
        admit: (each) => admit(context, each),
      });
      if (principal !== undefined) return context.redirect(`${here.base}${next}`, 303);
      const problem = 'This key isn’t valid: it is mistyped, has expired, or was revoked.';
      return sendPage(context, signInPage(context, here, parts, { next, problem }), 401);
    },
  });
  issuerSignInRoutes(app, setting, records);
  route('/inbox/sign-out', {
    GET: async (context) => context.redirect(`${site(context).base}/inbox`, 303),
    POST: sentBy(async (context, { who }) => {
      await signOut(context, site(context), { records, tokenHash: who.tokenHash });
      const more = html`<div class="actions"><a class="button quiet" href="${site(context).base}/inbox/sign-in">Sign in again</a></div>`;
      return sendPage(context, wordsPage({ title: 'Signed out', text: 'This browser is signed out.', more }));
    }),
  });
}

async function listRequests(
  context: GatewayContext,
  frame: InboxFrame,
  { options }: RouteSetting,
  tab: 'pending' | 'decided',
): Promise<Response> {
  const narrowed = narrowedTo(context, frame);
  const place = placeOf(context.req.query('after'));
  const page = await visibleRequests(options.client.approvals, frame.who.principal, {
    ...{ app: narrowed.app, kind: GATE_KINDS.find((kind) => kind === narrowed.kind) },
    after: place && { since: place.since, requestId: place.id },
    ...(tab === 'pending'
      ? { status: ['pending'], order: 'oldest' }
      : { status: REQUEST_ENDS, order: 'newest' }),
  });
  return sendPage(context, requestList(frame, tab, page, narrowed));
}

async function listJobs(
  context: GatewayContext,
  frame: InboxFrame,
  { options }: RouteSetting,
): Promise<Response> {
  const narrowed = narrowedTo(context, frame);
  const { app } = narrowed;
  const after = placeOf(context.req.query('after'));
  const page = await visibleJobs(options.client.jobs, frame.who.principal, {
    ...{ app, after },
    ...(narrowed.ended ? { status: JOB_ENDS, order: 'newest' } : { status: ['running'], order: 'oldest' }),
  });
  return sendPage(context, jobList(frame, page, narrowed));
}

async function showRequest(
  context: GatewayContext,
  frame: InboxFrame,
  setting: RouteSetting,
): Promise<Response> {
  const row = await requestOf(context, frame, setting);
  if (row === undefined) return noSuchPage(context);
  const visitor = visitorOf(frame, row, setting);
  const isPending = row.status === 'pending';
  const files = await filesOf(frame, row, setting);
  if (!mayDecide(frame.who.principal, row)) {
    const note = html`<div class="note"><p>You may see this request, but not decide it.</p></div>`;
    const main = html`${isPending ? note : ''}${outcomeCard(row, frame.now)}${requestCard(row, frame.now)}${files}`;
    return sendPage(context, requestPage(frame, row, main));
  }
  const isEditing = context.req.query('edit') !== undefined && isEditable(row) && isPending;
  const wasSent = isPending && context.req.query('sent') !== undefined;
  const main = isEditing ? editForm(visitor) : requestMain(visitor, { mayWithdraw: true });
  return sendPage(context, requestPage(frame, row, html`${wasSent ? SENT : ''}${main}${files}`));
}

/** Files that a page names, at most. */
const MOST_FILES = 50;

/** Plans and links to the artifacts of the request's session; empty for a person who may not read it. */
async function filesOf(
  { who, site, now }: InboxFrame,
  row: ApprovalRow,
  { options }: RouteSetting,
): Promise<Html | ''> {
  if (!mayRead(who.principal, row)) return '';
  const { app, userId, sessionId, requestId } = row;
  const listed = await options.client.artifacts.list({ app, userId, sessionId, limit: MOST_FILES });
  const session = await options.client.sessions.get({ app, userId, sessionId });
  const folder = `${site.base}/inbox/requests/${encodeURIComponent(requestId)}/files`;
  return html`${planList(session?.state)}${fileList(listed, folder, now)}`;
}

const SENT = html`<div class="note" role="status"><p>Your answer is saved. It doesn’t count yet, or more people are needed. Open this page again to see the result.</p></div>`;

async function takeAnswer(
  context: GatewayContext,
  frame: InboxFrame,
  setting: RouteSetting,
  form: ReadonlyMap<string, string>,
): Promise<Response> {
  const row = await requestOf(context, frame, setting);
  if (row === undefined) return noSuchPage(context);
  if (!mayDecide(frame.who.principal, row)) refuse(context, { permission: 'approve', app: row.app });
  const visitor = visitorOf(frame, row, setting);
  const options: AnswerOptions = {
    ...{ setting, channel: 'inbox', mayWithdraw: true },
    say: (_said, send) => send(),
  };
  if (row.status !== 'pending')
    return sendPage(context, requestPage(frame, row, requestMain(visitor, options)), 409);
  try {
    const answered = await answerRequest(form, visitor, options);
    if (answered !== undefined && 'main' in answered) {
      return sendPage(context, requestPage(frame, row, answered.main), answered.status);
    }
  } catch (error) {
    const { status, body } = errorAnswer(error);
    if (status !== 409 && status !== 400) throw error;
    noteRefused(context, error, { app: row.app, who: visitor.person });
    const now = (await setting.options.client.approvals.get({ requestId: row.requestId })) ?? row;
    const main = html`<div class="warn" role="alert"><p><strong>That doesn’t count.</strong> ${shown(body.error.message)}</p></div>${requestMain({ ...visitor, row: now }, options)}`;
    return sendPage(context, requestPage(frame, now, main), status);
  }
  return context.redirect(`${visitor.action}?sent`, 303);
}

/** Undefined for one that isn’t there, and for one that is not theirs to see: nobody learns which. */
async function requestOf(
  context: GatewayContext,
  { who }: InboxFrame,
  { options }: RouteSetting,
): Promise<ApprovalRow | undefined> {
  const requestId = context.req.param('requestId') ?? '';
  if (!/^rq-[\w.-]{1,400}$/.test(requestId)) return undefined;
  const row = await options.client.approvals.get({ requestId });
  if (row === undefined || maySee(who.principal, row)) return row;
  context.set('denied', { reason: 'hidden', permission: 'read or approve', app: row.app });
  return undefined;
}

function visitorOf({ site, who, now }: InboxFrame, row: ApprovalRow, { options }: RouteSetting): Visitor {
  const action = `${site.base}/inbox/requests/${encodeURIComponent(row.requestId)}`;
  const keys = options.credentialKeys && credentialKeysOf(options.credentialKeys);
  const connect = keys && connectPath(keys, row, site);
  return { row, now, action, connect, person: who.person, formToken: who.formToken };
}

function requestPage(frame: InboxFrame, row: ApprovalRow, main: Html): string {
  const tab = row.status === 'pending' ? 'pending' : 'decided';
  const ui = linkOfRequest(frame, row);
  const more = html`${main}<p class="soft">Request <code>${shown(row.requestId)}</code>${ui === '' ? '' : html` · ${ui}`}</p>`;
  return inboxPage(frame, { tab, title: requestTitle(row), main: more });
}

function narrowedTo({ req }: GatewayContext, { who, about }: InboxFrame): Narrowed {
  const given = (name: string) => req.query(name) || undefined;
  const app = given('app');
  const apps = who.principal.apps ?? about.apps;
  return {
    ...{ app, kind: given('kind'), apps: app === undefined || apps.includes(app) ? apps : [...apps, app] },
    ...(given('status') === 'ended' ? { ended: true } : {}),
  };
}

function placeOf(text: string | undefined): { since: number; id: string } | undefined {
  const [, since = '', id = ''] = /^(\d{1,15})~([\w.-]{1,400})$/.exec(text ?? '') ?? [];
  return id === '' ? undefined : { since: Number(since), id };
}
