import { html } from 'hono/html';
import { argumentsToRun } from '../../approvals/edited-arguments.ts';
import { ownQuestion } from '../../approvals/own-question.ts';
import type { ListedArtifacts } from '../../contract/artifacts.ts';
import type { ApprovalRow, GateKind, RequestStatus } from '../../contract/requests.ts';
import { plansIn } from '../../protocol/agent-plan.ts';
import { visibleText } from '../../protocol/visible-text.ts';
import { CHANNELS } from '../approvals/gateway-attester.ts';
import { type Html, shown, shownLines } from './shown-text.ts';
import { shownTime } from './shown-time.ts';
import { argumentTable, shownJson } from './shown-value.ts';

const WAITS: Record<GateKind, string> = {
  confirmation: 'Waits for an approval',
  input: 'Waits for an answer',
  credential: 'Waits for a credential',
};

const ASKS: Record<GateKind, string> = {
  confirmation: 'Approve',
  input: 'Answer',
  credential: 'Credential for',
};

const ENDED: Record<Exclude<RequestStatus, 'pending'>, readonly [word: string, look: string]> = {
  approved: ['Approved', 'good'],
  rejected: ['Rejected', 'bad'],
  answered: ['Answered', 'good'],
  expired: ['Expired', ''],
  cancelled: ['Cancelled', ''],
};

const PLACES: ReadonlyMap<string, string> = new Map([['cli', 'in a terminal'], ...Object.entries(CHANNELS)]);

export function statusChip({ status, kind }: Pick<ApprovalRow, 'status' | 'kind'>): Html {
  if (status === 'pending') return html`<span class="chip pending">${WAITS[kind]}</span>`;
  const [word, look] = ENDED[status];
  return html`<span class="chip ${look}">${word}</span>`;
}

/** As a line of text, for the browser’s tab. */
export function requestTitle({ kind, tool, status }: Pick<ApprovalRow, 'kind' | 'tool' | 'status'>): string {
  if (status !== 'pending') return `${ENDED[status][0]}: ${visibleText(tool)}`;
  return `${ASKS[kind]} ${visibleText(tool)}`;
}

/** The question, its requester and its deadline, drawn for the decider. */
export function requestCard(row: ApprovalRow, now: number): Html {
  const { kind, args, sensitive, payload, authConfig } = row;
  const question = ownQuestion(row);
  return html`<article class="card">
${statusChip(row)}
<h1>${headline(row)}</h1>
${question === '' ? '' : html`<div class="question">${shownLines(question)}</div>`}
${kind === 'credential' && authConfig !== undefined ? html`<p>It is kept as <code>${shown(authConfig.credentialKey)}</code>, encrypted, for the user <b>${shown(row.userId)}</b>.</p>` : ''}
<h2>Arguments</h2>
${argumentTable(args, sensitive, `Arguments of ${visibleText(row.tool)}`)}
${changed(row)}
${payload === undefined ? '' : html`<h2>Shown by the tool</h2>${shownJson(payload, 'payload')}`}
<h2>Who asks</h2>
${facts(row, now)}
</article>`;
}

/** Links to files of the request's session; empty without any. */
export function fileList({ artifacts, next }: ListedArtifacts, base: string, now: number): Html | '' {
  if (artifacts.length === 0) return '';
  const rows = artifacts.map(({ name, size, uri, savedAt }) => {
    const about = html`<span class="soft">${size === undefined ? shown(uri ?? '') : sizeText(size)}, ${shownTime(savedAt, now)}</span>`;
    const link = html`<a href="${base}/${encodeURIComponent(name)}" download>${shown(name)}</a>`;
    return html`<li>${size === undefined ? shown(name) : link} ${about}</li>`;
  });
  return html`<section class="card"><h2>Files of the session</h2><ul class="votes">${rows}</ul>${next === undefined ? '' : html`<p class="soft">There are more.</p>`}</section>`;
}

/** The plans that agents keep in the state of the request's session; empty without any. */
export function planList(state: Readonly<Record<string, unknown>> | undefined): Html | '' {
  const plans = plansIn(state).map(({ agent, lines }) => {
    return html`<h3>${shown(agent)}</h3><ul class="votes">${lines.map((line) => html`<li>${shown(line)}</li>`)}</ul>`;
  });
  return plans.length === 0 ? '' : html`<section class="card"><h2>Plan</h2>${plans}</section>`;
}

function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`;
  const mebi = bytes / 1_048_576;
  return mebi < 1 ? `${(bytes / 1_024).toFixed(1)} KiB` : `${mebi.toFixed(1)} MiB`;
}

/** Its end; empty while it waits. */
export function outcomeCard(row: ApprovalRow, now: number): Html | '' {
  const { status, decidedAt, reason, votes } = row;
  if (status === 'pending') return '';
  const [word, look] = ENDED[status];
  const by = votes.filter(({ confirmed }) => confirmed === (status === 'approved'));
  const people = status === 'approved' || status === 'rejected' ? by : [];
  return html`<div class="${look === 'good' ? 'done' : look === 'bad' ? 'warn' : 'note'}" role="status">
<p><strong>${word}</strong>${people.map(({ by: voter }, index) => html`${index === 0 ? ' by ' : ' and '}${voterName(voter)}`)}${decidedAt === undefined ? '' : html`, ${shownTime(decidedAt, now)}`}.</p>
${reason === undefined ? '' : html`<p>Reason: ${shown(reason)}</p>`}
</div>`;
}

export function voterName({ principal, verified, channel }: ApprovalRow['votes'][number]['by']): Html {
  if (!verified) return html`an unverified person`;
  const where = channel === undefined ? '' : (PLACES.get(channel) ?? '');
  return html`<b>${shown(principal)}</b>${where === '' ? '' : ` ${where}`}`;
}

/** The count of approvals of several voters; empty where one is enough. */
export function countOf({ terms, votes }: Pick<ApprovalRow, 'terms' | 'votes'>): string {
  const { quorum = 1 } = terms;
  if (quorum < 2) return '';
  return `${votes.filter(({ confirmed }) => confirmed).length} of ${quorum} approvals`;
}

function headline({ kind, tool, agent }: ApprovalRow): Html {
  const name = html`<code>${shown(tool)}</code>`;
  if (kind === 'confirmation') return html`May ${shown(agent)} run ${name}?`;
  return kind === 'input' ? html`${shown(agent)} asks you` : html`${name} needs a credential`;
}

function changed(row: ApprovalRow): Html | '' {
  if (row.editedArgs === undefined) return '';
  const caption = 'Arguments as they were changed';
  return html`<h2>Changed to</h2>${argumentTable(argumentsToRun(row), row.sensitive, caption)}`;
}

function facts(row: ApprovalRow, now: number): Html {
  const { kind, requester, path, agent, app, userId, sessionId, since, until, status, votes, escalatedAt } =
    row;
  const agents = path.length > 0 ? path : [agent];
  const isPending = status === 'pending';
  return html`<dl class="facts">
<dt>Asked for by</dt><dd>${requester === undefined ? html`unknown <span class="soft">(nobody has checked who sent the message)</span>` : html`<b>${shown(requester)}</b> <span class="soft">(verified)</span>`}</dd>
<dt>Agent</dt><dd>${agents.map((name, index) => html`${index === 0 ? '' : ' › '}${shown(name)}`)}</dd>
<dt>App</dt><dd>${shown(app)}</dd>
<dt>User and session</dt><dd>${shown(userId)} <span class="soft">/</span> ${shown(sessionId)}</dd>
<dt>Asked</dt><dd>${shownTime(since, now)}</dd>
${isPending ? html`<dt>${kind === 'confirmation' ? 'Decide until' : 'Answer until'}</dt><dd>${until === undefined ? 'it doesn’t expire' : shownTime(until, now)}</dd>` : ''}
${isPending && escalatedAt !== undefined ? html`<dt>Escalated</dt><dd>${shownTime(escalatedAt, now)}</dd>` : ''}
<dt>${kind === 'confirmation' ? 'Who may decide' : 'Who may answer'}</dt><dd>${deciders(row)}</dd>
${votes.length === 0 ? '' : html`<dt>Votes</dt><dd><ul class="votes">${votes.map(({ by, confirmed, at }) => html`<li>${confirmed ? 'Approved' : 'Rejected'} by ${voterName(by)}, ${shownTime(at, now)}</li>`)}</ul></dd>`}
</dl>`;
}

function deciders(row: ApprovalRow): Html {
  const { approvers, escalateTo, quorum = 1, notRequester } = row.terms;
  const people = [...(approvers ?? []), ...(row.escalatedAt === undefined ? [] : (escalateTo ?? []))];
  const who =
    approvers === undefined
      ? html`anybody who is asked`
      : html`${people.map((name, index) => html`${index === 0 ? '' : ', '}${shown(name)}`)}`;
  return html`${who}${quorum > 1 ? html`; ${quorum} different people must approve, ${countOf(row)} so far` : ''}${notRequester ? '; not who has asked for it' : ''}`;
}
