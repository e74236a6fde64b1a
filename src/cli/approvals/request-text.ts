import { argumentsToRun } from '../../approvals/edited-arguments.ts';
import { ownQuestion } from '../../approvals/own-question.ts';
import { LONGEST_HINT, WANTED } from '../../approvals/request-lines.ts';
import { isResultSensitive, MASK } from '../../approvals/sensitive.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { visibleExcerpt, visibleText } from '../../protocol/visible-text.ts';
import { ago, clockTime, spanText } from '../sessions/shown-values.ts';
import { argumentLines, changeLines, valueLines } from './shown-arguments.ts';

/** One without lines is left out. */
export type Block = [label: string, lines: readonly string[]];

/** All that somebody needs to decide by, rendered here: nothing of it is what the model says about its call. */
export function requestLines(row: ApprovalRow, now = Date.now()): string[] {
  const blocks: Block[] = [
    ['call', [callText(row), `key ${row.callKey} · id ${visibleExcerpt(row.callId, 80)}`]],
    ...questionBlocks(row),
    ['requester', [requesterText(row)]],
    ['terms', termsLines(row)],
    ['since', [`${clockTime(row.since)} (${ago(row.since, now)})`]],
    ['expires', untilLines(row, now)],
    ['votes', votesLines(row, now)],
    ['history', historyLines(row, now)],
    ...decisionBlocks(row, now),
  ];
  return [`${row.requestId}  ${statusText(row)}`, ...blocksLines(blocks)];
}

/** The question, without its end: for a person who is asked right now. */
export function questionLines(row: ApprovalRow): string[] {
  const { terms } = row;
  return [
    `${row.requestId}  ${WANTED[row.kind]}`,
    ...blocksLines([
      ['call', [callText(row)]],
      ...questionBlocks(row),
      ['terms', Object.keys(terms).length === 0 ? [] : termsLines(row)],
    ]),
  ];
}

/** `ann by cli`, `unverified (not attested)`. */
export function voterText({ principal, verified, channel }: ApprovalRow['votes'][number]['by']): string {
  const proof = verified ? '' : ' (not attested)';
  return `${visibleExcerpt(principal, 80)}${proof}${channel === undefined ? '' : ` by ${visibleExcerpt(channel, 40)}`}`;
}

export function statusText(row: ApprovalRow): string {
  return row.status === 'pending' ? `pending: ${WANTED[row.kind]}` : row.status;
}

/** `in 2 h`, or how long ago it was. */
export function untilText(until: number, now = Date.now()): string {
  return until > now ? `in ${spanText(until - now)}` : `${ago(until, now)}`;
}

/** Labels to the left, their lines below one another. */
export function blocksLines(blocks: readonly Block[]): string[] {
  const told = blocks.filter(([, lines]) => lines.length > 0);
  const width = Math.max(...told.map(([label]) => label.length));
  return told.flatMap(([label, lines]) =>
    lines.map((line, index) => `  ${(index === 0 ? label : '').padEnd(width)}  ${line}`),
  );
}

function callText({ tool, path, agent, app, userId, sessionId }: ApprovalRow): string {
  const agents = path.length > 0 ? path : [agent];
  const session = [app, userId, sessionId].map((part) => visibleExcerpt(part, 80)).join('/');
  return `${visibleExcerpt(tool, 80)} of ${agents.map((name) => visibleExcerpt(name, 80)).join(' › ')}, session ${session}`;
}

function questionBlocks(row: ApprovalRow): Block[] {
  const { kind, args, sensitive, payload, editedArgs, responseSchema, authConfig } = row;
  const isEmpty = Object.keys(args).length === 0;
  const hint = ownQuestion(row);
  return [
    ['hint', hint === '' ? [] : [visibleExcerpt(hint, LONGEST_HINT)]],
    ['arguments', isEmpty ? ['(none)'] : argumentLines(args, sensitive)],
    ['edited', editedArgs === undefined ? [] : changeLines(args, argumentsToRun(row), sensitive)],
    ['payload', payload === undefined ? [] : valueLines(payload)],
    ['schema', kind !== 'input' || responseSchema === undefined ? [] : valueLines(responseSchema)],
    ['credential', authConfig === undefined ? [] : [authText(authConfig)]],
  ];
}

function authText({ authScheme, credentialKey }: NonNullable<ApprovalRow['authConfig']>): string {
  const { type, scheme } = authScheme as { type?: unknown; scheme?: unknown };
  const words = [type, scheme].filter((word) => typeof word === 'string');
  return visibleText([credentialKey, ...(words.length === 0 ? [] : [`(${words.join(', ')})`])].join(' '));
}

function requesterText({ requester }: ApprovalRow): string {
  return requester === undefined
    ? 'unknown: nobody has checked who sent the message'
    : `${visibleExcerpt(requester, 80)} (verified)`;
}

function termsLines({ terms }: ApprovalRow): string[] {
  const {
    approvers,
    quorum = 1,
    allowEdit,
    notRequester,
    onExpiry,
    expiresIn,
    escalateAfter,
    escalateTo,
  } = terms;
  const people = (names: readonly string[]) => names.map((name) => visibleExcerpt(name, 80)).join(', ');
  const expiry = { approve: 'approved', reject: 'rejected', escalate: 'escalated' }[onExpiry ?? 'reject'];
  return [
    approvers === undefined ? 'anybody may decide' : `approvers: ${people(approvers)}`,
    ...(quorum > 1 ? [`${quorum} approvals of different people`] : []),
    ...(notRequester ? ['not by the requester'] : []),
    ...(allowEdit ? ['arguments may be edited'] : []),
    ...(expiresIn === undefined ? [] : [`expires after ${spanText(expiresIn)}; then it is ${expiry}`]),
    ...(escalateTo === undefined
      ? []
      : [
          `escalates to ${people(escalateTo)}${escalateAfter === undefined ? '' : ` after ${spanText(escalateAfter)}`}`,
        ]),
  ];
}

function untilLines({ until, status, escalatedAt }: ApprovalRow, now: number): string[] {
  if (status !== 'pending') return [];
  return [
    ...(until === undefined ? [] : [`${clockTime(until)} (${untilText(until, now)})`]),
    ...(escalatedAt === undefined ? [] : [`escalated ${ago(escalatedAt, now)}`]),
  ];
}

function votesLines({ votes, terms, status }: ApprovalRow, now: number): string[] {
  const { quorum = 1 } = terms;
  const lines = votes.map(
    ({ by, confirmed, at }) => `${confirmed ? 'approved' : 'rejected'} by ${voterText(by)}, ${ago(at, now)}`,
  );
  const count = votes.filter(({ confirmed }) => confirmed).length;
  if (status === 'pending' && quorum > 1) lines.push(`${count} of ${quorum} approvals`);
  return lines;
}

/** Facts besides the counted votes: withdrawn votes, and decisions that don't count. */
function historyLines({ history }: ApprovalRow, now: number): string[] {
  const told = history.filter(
    ({ kind }) => kind === 'refused' || kind === 'withdrawn' || kind === 'escalated',
  );
  return told.map(({ kind, by, at, reason }) => {
    const who = by === undefined ? '' : ` by ${voterText(by)}`;
    const why = reason === undefined ? '' : `: ${visibleExcerpt(reason, 200)}`;
    return `${kind}${who}, ${ago(at, now)}${why}`;
  });
}

function decisionBlocks(row: ApprovalRow, now: number): Block[] {
  const { decidedAt, reason, answerPayload, response, credentialRef } = row;
  const answer = isResultSensitive(row.sensitive) ? [MASK] : valueLines(response);
  return [
    ['decided', decidedAt === undefined ? [] : [`${clockTime(decidedAt)} (${ago(decidedAt, now)})`]],
    ['reason', reason === undefined ? [] : [visibleExcerpt(reason, 2_000)]],
    ['answer', answerPayload === undefined ? [] : valueLines(answerPayload)],
    ['answer', response === undefined ? [] : answer],
    ['credential', credentialRef === undefined ? [] : [visibleText(credentialRef)]],
  ];
}
