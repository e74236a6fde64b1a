import { html } from 'hono/html';
import { ownQuestion } from '../../approvals/own-question.ts';
import type { GatewayAbout } from '../../contract/about.ts';
import type { JobRow } from '../../contract/jobs.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { Page } from './inbox-lists.ts';
import type { PageSite } from './page-site.ts';
import { countOf, statusChip } from './request-view.ts';
import { pageOf } from './shell.ts';
import { type Html, shown } from './shown-text.ts';
import { distance, shownTime } from './shown-time.ts';
import type { SignedIn } from './sign-in.ts';
import { linkOfJob } from './temporal-links.ts';

export type Tab = 'pending' | 'decided' | 'jobs' | 'connections';

/** Data of every page of the inbox. */
export interface InboxFrame {
  site: PageSite;
  who: SignedIn;
  about: GatewayAbout;
  now: number;
}

/** Filters of a list. */
export interface Narrowed {
  app?: string | undefined;
  kind?: string | undefined;
  /** Jobs that have ended, in place of those that run. */
  ended?: true;
  /** Apps to choose from. */
  apps: readonly string[];
}

const TABS: readonly (readonly [tab: Tab, path: string, name: string])[] = [
  ['pending', '/inbox', 'Waiting'],
  ['decided', '/inbox/decided', 'Decided'],
  ['jobs', '/inbox/jobs', 'Jobs'],
  ['connections', '/inbox/connections', 'Connections'],
];

const KINDS = [
  ['confirmation', 'Approvals'],
  ['input', 'Questions'],
  ['credential', 'Credentials'],
] as const;

const JOB_LOOKS: Record<JobRow['status'], readonly [word: string, look: string]> = {
  running: ['Running', 'pending'],
  completed: ['Completed', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', ''],
  timed_out: ['Timed out', 'bad'],
};

export function inboxPage(
  { site, who }: InboxFrame,
  { tab, title, main, wide }: { tab?: Tab; title: string; main: Html; wide?: true },
): string {
  const top = html`<nav class="tabs" aria-label="Inbox">${TABS.map(
    ([each, path, name]) =>
      html`<a href="${site.base}${path}"${each === tab ? html` aria-current="page"` : ''}>${name}</a>`,
  )}</nav>
<span class="who"><span>Signed in as <b>${shown(who.person)}</b></span><form method="post" action="${site.base}/inbox/sign-out"><input type="hidden" name="token" value="${who.formToken}"><button class="plain">Sign out</button></form></span>`;
  return pageOf({ title, main, top, ...(wide ? { width: 'wide' } : {}) });
}

/** Requests, each a way to its page. */
export function requestList(
  frame: InboxFrame,
  tab: 'pending' | 'decided',
  page: Page<ApprovalRow>,
  narrowed: Narrowed,
): string {
  const { site, now } = frame;
  const title = tab === 'pending' ? 'Waiting for an answer' : 'Decided';
  const path = tab === 'pending' ? '/inbox' : '/inbox/decided';
  const rows = page.rows.map(
    (
      row,
    ) => html`<li><a class="row" href="${site.base}/inbox/requests/${encodeURIComponent(row.requestId)}">${headOf(row)}</a>
${ownQuestion(row) === '' ? '' : html`<p>${shown(cut(ownQuestion(row)))}</p>`}
<p>${shown(row.app)} · ${shown(row.userId)}${row.requester === undefined ? '' : html` · asked for by ${shown(row.requester)}`}</p>
<div class="aside">${statusChip(row)}<span>${tab === 'pending' ? timing(row, now) : shownTime(row.decidedAt ?? row.since, now)}</span></div></li>`,
  );
  const nothing =
    tab === 'pending'
      ? empty('Nothing waits', 'Requests that you may see appear here.')
      : empty(
          'Nothing was decided yet',
          'Requests that were answered, have expired or were cancelled appear here.',
        );
  const main = html`<div class="bar"><h1>${title}</h1></div>
${filters(`${site.base}${path}`, narrowed, tab)}
${rows.length === 0 ? nothing : html`<ul class="rows">${rows}</ul>`}
${pager(`${site.base}${path}`, page, narrowed)}`;
  return inboxPage(frame, { tab, title, main, wide: true });
}

export function jobList(frame: InboxFrame, page: Page<JobRow>, narrowed: Narrowed): string {
  const { site, now } = frame;
  const rows = page.rows.map((row) => {
    const [word, look] = JOB_LOOKS[row.status];
    const { progress } = row;
    const value = progress?.value;
    const share = value === undefined ? '' : `${Math.round(value * 100)} %`;
    return html`<li><strong><code>${shown(row.tool)}</code> of ${shown(row.agent)}</strong>
<p>${shown(row.app)} · ${shown(row.userId)} · <code>${shown(row.jobId)}</code></p>
${progress === undefined ? '' : html`<p>${share}${share !== '' && progress.message !== undefined ? ', ' : ''}${progress.message === undefined ? '' : shown(progress.message)} <span class="soft">(${distance(progress.at - now)})</span></p>`}
<div class="aside"><span class="chip ${look}">${word}</span><span>begun ${distance(row.since - now)}${row.status === 'running' ? `, until ${distance(row.until - now)}` : row.endedAt === undefined ? '' : `, ended ${distance(row.endedAt - now)}`}</span>${linkOfJob(frame, row)}</div></li>`;
  });
  const nothing = narrowed.ended
    ? empty('No job has ended', 'Jobs of long-running tools appear here once they have.')
    : empty('No job runs', 'Jobs of long-running tools appear here until they end.');
  const main = html`<div class="bar"><h1>Jobs</h1></div>
${filters(`${site.base}/inbox/jobs`, narrowed, 'jobs')}
${rows.length === 0 ? nothing : html`<ul class="rows">${rows}</ul>`}
${pager(`${site.base}/inbox/jobs`, page, narrowed)}`;
  return inboxPage(frame, { tab: 'jobs', title: 'Jobs', main, wide: true });
}

function headOf(row: ApprovalRow): Html {
  const name = html`<code>${shown(row.tool)}</code>`;
  if (row.kind === 'confirmation') return html`${name} of ${shown(row.agent)}`;
  return row.kind === 'input' ? html`A question of ${shown(row.agent)}` : html`A credential for ${name}`;
}

function timing(row: ApprovalRow, now: number): Html {
  const count = countOf(row);
  const until = row.until === undefined ? '' : `, expires ${distance(row.until - now)}`;
  return html`asked ${distance(row.since - now)}${until}${count === '' ? '' : `, ${count}`}`;
}

function filters(action: string, { app, kind, ended, apps }: Narrowed, tab: Tab): Html {
  const option = (value: string, name: Html | string, chosen: string | undefined) =>
    html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : ''}>${name}</option>`;
  return html`<form class="filters" method="get" action="${action}">
${apps.length < 2 && app === undefined ? '' : html`<div class="field"><label for="app">App</label><select id="app" name="app">${option('', 'All apps', app)}${apps.map((each) => option(each, shown(each), app))}</select></div>`}
${
  tab === 'jobs'
    ? html`<div class="field"><label for="status">Which</label><select id="status" name="status">${option('', 'Running', ended && 'ended')}${option('ended', 'Ended', ended && 'ended')}</select></div>`
    : html`<div class="field"><label for="kind">What</label><select id="kind" name="kind">${option('', 'Everything', kind)}${KINDS.map(([each, name]) => option(each, name, kind))}</select></div>`
}
<button class="quiet">Show</button></form>`;
}

function pager(action: string, { next }: Page<unknown>, { app, kind, ended }: Narrowed): Html | '' {
  if (next === undefined) return '';
  const query = new URLSearchParams({
    ...(app === undefined ? {} : { app }),
    ...(kind === undefined ? {} : { kind }),
    ...(ended ? { status: 'ended' } : {}),
    after: `${next.since}~${next.id}`,
  });
  return html`<nav class="pager" aria-label="Pages"><a class="button quiet" href="${action}?${query.toString()}">Show more</a></nav>`;
}

function empty(title: string, text: string): Html {
  return html`<div class="card empty"><strong>${title}</strong>${text}</div>`;
}

function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
