import { randomUUID } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { type ApprovalLink, verifyApprovalLink } from '../../approvals/approval-link.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { type CredentialKeys, credentialKeysOf } from '../../credentials/credential-keys.ts';
import type { UsedLink } from '../../store/keys/key-store.ts';
import { connectPath } from '../connections/waiting-requests.ts';
import { errorAnswer } from '../error-answer.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import { editForm, type Visitor } from './answer-forms.ts';
import { type AnswerOptions, answerRequest, requestMain, type Say } from './answer-request.ts';
import { isEditable } from './edit-fields.ts';
import { formToken, isFormCookie, isSameToken, newFormCookie } from './form-token.ts';
import { noSuchPage, pageRoute, sendPage } from './page-answer.ts';
import { noteRefused, refuse } from './page-denial.ts';
import { cookieName, isOfOwnPage, keepCookie, type PageSite, siteOf } from './page-site.ts';
import { countOf, outcomeCard, requestCard, requestTitle } from './request-view.ts';
import { pageOf, wordsPage } from './shell.ts';
import { type Html, shown } from './shown-text.ts';
import { shownTime } from './shown-time.ts';
import { takeForm } from './take-form.ts';

/** A browser that leaves the page open longer than this opens it again, seconds. */
const FORM_LIFE = 8 * 3_600;

/** Dependencies of the pages of links, all required. */
interface Links {
  setting: RouteSetting;
  keys: CredentialKeys;
  records: GatewayRecords;
}

/** A link that holds, and its request. */
interface Opened {
  link: ApprovalLink;
  row: ApprovalRow;
  site: PageSite;
}

/** Pages by which the receiver of a link decides: the link alone names the person. */
export function linkRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { credentialKeys, records, logger } = setting.options;
  const links =
    credentialKeys === undefined || records === undefined
      ? undefined
      : { setting, records, keys: credentialKeysOf(credentialKeys) };
  const handlers = {
    GET: async (context: GatewayContext) => await withLink(context, links, showLink),
    POST: async (context: GatewayContext) => await withLink(context, links, useLink),
  };
  app.all('/a/:token', pageRoute(logger, handlers));
}

type Then = (context: GatewayContext, links: Links, opened: Opened) => Promise<Response>;

async function withLink(context: GatewayContext, links: Links | undefined, then: Then): Promise<Response> {
  if (links === undefined) return noSuchPage(context);
  const { client, publicUrl } = links.setting.options;
  const now = await links.records.now();
  const link = await verifyApprovalLink(links.keys, context.req.param('token') ?? '', now);
  if (link === 'expired') return sendPage(context, EXPIRED, 410);
  if (typeof link === 'string') return noSuchPage(context);
  links.setting.limits.spend({ name: `link:${link.id}` });
  const row = await client.approvals.get({ requestId: link.requestId });
  // A session that was deleted and made again has another id, and may ask by the same ones.
  if (row === undefined || row.session !== link.session) return noSuchPage(context);
  return await then(context, links, { link, row, site: siteOf(context, publicUrl) });
}

const EXPIRED = wordsPage({
  title: 'This link has expired',
  text: 'It can’t be used any more. If the request still waits, ask for a new link, or open it in the inbox.',
});

async function showLink(context: GatewayContext, links: Links, opened: Opened): Promise<Response> {
  const used = await links.records.keys.findUsedLink(opened.link.id);
  if (used !== undefined) return sendPage(context, usedPage(opened, used));
  const visitor = visitorOf(context, links, opened);
  const isEditing = context.req.query('edit') !== undefined && isEditable(opened.row);
  const isPending = opened.row.status === 'pending';
  const main = isEditing && isPending ? editForm(visitor) : requestMain(visitor, { mayWithdraw: false });
  return sendPage(context, linkPage(opened, main));
}

async function useLink(context: GatewayContext, links: Links, opened: Opened): Promise<Response> {
  const { link, row, site } = opened;
  const denied = { permission: 'approve', app: row.app, who: link.approver };
  if (!isOfOwnPage(context, site)) refuse(context, denied);
  const cookie = getCookie(context, nameOf(site, link));
  const form = await takeForm(context);
  if (!isFormCookie(cookie) || !isSameToken(form.get('token'), formToken(links.keys, link.id, cookie))) {
    refuse(context, denied);
  }
  const { records, setting } = links;
  const used = await records.keys.findUsedLink(link.id);
  if (used !== undefined) return sendPage(context, usedPage(opened, used), 409);
  const visitor = visitorOf(context, links, opened);
  if (row.status !== 'pending') {
    return sendPage(context, linkPage(opened, requestMain(visitor, { mayWithdraw: false })), 409);
  }
  const options: AnswerOptions = { setting, channel: 'link', say: onceBy(links, opened), mayWithdraw: false };
  try {
    const answered = await answerRequest(form, visitor, options);
    if (answered === undefined) return sendPage(context, usedPage(opened, await usedBy(links, link)), 409);
    if ('main' in answered) return sendPage(context, linkPage(opened, answered.main), answered.status);
  } catch (error) {
    const { status, body } = errorAnswer(error);
    if (status !== 409 && status !== 400) throw error;
    noteRefused(context, error, { app: row.app, who: link.approver });
    const now = await setting.options.client.approvals.get({ requestId: link.requestId });
    if (now === undefined || now.session !== link.session) return noSuchPage(context);
    const main = html`<div class="warn" role="alert"><p><strong>That doesn’t count.</strong> ${shown(toldOf(body.error.message, link))}</p></div>${requestMain({ ...visitor, row: now }, options)}`;
    return sendPage(context, linkPage({ ...opened, row: now }, main), status);
  }
  return context.redirect(`${site.base}/a/${context.req.param('token')}`, 303);
}

/** How a link was used that somebody else has taken meanwhile. */
async function usedBy({ records }: Links, { id }: ApprovalLink): Promise<UsedLink> {
  return (await records.keys.findUsedLink(id)) ?? { at: Date.now() };
}

/** The link is taken before anything is said by it, and given back where that wasn't taken. */
function onceBy({ records, setting }: Links, { link }: Opened): Say {
  return async (said, send) => {
    const take = { id: link.id, holder: randomUUID() };
    const used = await records.keys.takeLink({ ...take, requestId: link.requestId });
    if (used !== undefined) return undefined;
    try {
      const receipt = await send();
      await records.keys.useLink({ ...take, outcome: said });
      return receipt;
    } catch (error) {
      await records.keys.releaseLink(take).catch((failure: unknown) => {
        setting.options.logger.warn('a link could not be given back', { error: failure });
      });
      throw error;
    }
  };
}

function visitorOf(context: GatewayContext, { keys }: Links, { link, row, site }: Opened): Visitor {
  const known = getCookie(context, nameOf(site, link));
  const cookie = isFormCookie(known) ? known : newFormCookie();
  keepCookie(context, site, { name: shortName(link), value: cookie, maxAge: FORM_LIFE });
  return {
    row,
    person: link.approver,
    action: `${site.base}/a/${context.req.param('token')}`,
    formToken: formToken(keys, link.id, cookie),
    connect: connectPath(keys, row, site),
    now: Date.now(),
  };
}

function linkPage({ row, link }: Opened, main: Html): string {
  const top = html`<span class="who"><span>Deciding as <b>${shown(link.approver)}</b></span></span>`;
  const foot = html`<p>This link is ${shown(link.approver)}’s own and works once: don’t pass it on.</p><p>Request <code>${shown(row.requestId)}</code></p>`;
  return pageOf({ title: requestTitle(row), main, top, foot });
}

const SAID: Readonly<Record<string, string>> = {
  approve: 'approved this',
  reject: 'rejected this',
  answer: 'answered this',
  credential: 'handed the credential over',
};

/** The decision by a link, and its receipt. */
function usedPage(opened: Opened, { at, outcome }: UsedLink): string {
  const { row, link } = opened;
  const now = Date.now();
  if (outcome === undefined) {
    const text = 'This link is in use at this moment. Open it again in a minute to see the result.';
    return linkPage(
      opened,
      html`<div class="note" role="status"><p>${text}</p></div>${requestCard(row, now)}`,
    );
  }
  // The vote that decided it is told already.
  const isVoted = row.status === 'approved' || row.status === 'rejected';
  const isTold = isVoted && row.votes.some(({ by }) => by.principal === link.approver);
  const main = html`${outcomeCard(row, now)}${isTold ? '' : saidNote(opened, { at, outcome }, now)}${requestCard(row, now)}`;
  return linkPage(opened, main);
}

function saidNote({ row, link }: Opened, { at, outcome = '' }: UsedLink, now: number): Html {
  const count = countOf(row);
  const waits = count === '' ? 'It counts as soon as a worker takes it up.' : `${count}: more are needed.`;
  const look = outcome === 'reject' ? 'warn' : 'done';
  return html`<div class="${look}" role="status"><p><strong>${shown(link.approver)} ${SAID[outcome] ?? 'has answered'}</strong> by this link, ${shownTime(at, now)}.${row.status === 'pending' ? ` ${waits}` : ''}</p></div>`;
}

/** Without the words that programs know it by. */
function toldOf(message: string, { requestId }: ApprovalLink): string {
  const text = message.replace(/^approvals\.\w+: /, '').replace(`${requestId}: `, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** One for each link, so that several may be open at once. */
function shortName({ id }: ApprovalLink): string {
  return `holdfast-link-${id.slice(0, 8)}`;
}

function nameOf(site: PageSite, link: ApprovalLink): string {
  return cookieName(site, shortName(link));
}
