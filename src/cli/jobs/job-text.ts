import type { JobEnder, JobProgress, JobRow } from '../../contract/jobs.ts';
import { visibleExcerpt, visibleText } from '../../protocol/visible-text.ts';
import { type Block, blocksLines, untilText } from '../approvals/request-text.ts';
import { valueLines } from '../approvals/shown-arguments.ts';
import { ago, clockTime } from '../sessions/shown-values.ts';

const MODES: Record<JobRow['mode'], string> = {
  started: 'its tool runs',
  parked: 'its turn waits for it',
  detached: 'the model was told something, and the job goes on without the turn',
};

const ENDERS: Record<JobEnder, string> = {
  tool: 'its tool',
  callback: 'a callback',
  message: 'a message',
  poll: 'a poll',
  operator: 'an operator',
  timeout: 'its timeout',
  turn: 'the end of its turn',
};

/** `timed out`, not `timed_out`. */
export function statusWords({ status }: Pick<JobRow, 'status'>): string {
  return status === 'timed_out' ? 'timed out' : status;
}

/** `40 %  counting rows`; what a service says of itself stays on one line. */
export function progressWords({ value, message }: Pick<JobProgress, 'value' | 'message'>): string {
  return [
    ...(value === undefined ? [] : [`${Math.round(value * 100)} %`]),
    ...(message === undefined ? [] : [visibleExcerpt(message, 500)]),
  ].join('  ');
}

export function enderText(ender: JobEnder): string {
  return ENDERS[ender];
}

export interface JobLinks {
  /** Pages of the Temporal UI: the session's turns, and the workflow that waits where it isn't the turn. */
  temporal: readonly string[];
}

/** All that is known of a job. `args` are told where they are known and may be. */
export function jobLines(
  row: JobRow,
  { temporal, args }: JobLinks & { args: readonly string[] },
  now = Date.now(),
): string[] {
  const isRunning = row.status === 'running';
  const blocks: Block[] = [
    ['tool', [toolText(row)]],
    ['call', [`key ${row.callKey} · id ${visibleExcerpt(row.callId, 80)}`]],
    ['arguments', args],
    ['mode', [isRunning ? `${row.mode}: ${MODES[row.mode]}` : row.mode]],
    ['since', [`${clockTime(row.since)} (${ago(row.since, now)})`]],
    ['until', isRunning ? [`${clockTime(row.until)} (${untilText(row.until, now)})`] : []],
    ...progressBlock(row, now),
    ['told so far', row.intermediate === undefined ? [] : valueLines(row.intermediate)],
    ['polls', pollLines(row, now)],
    ...outcomeBlocks(row, now),
    ['Temporal', temporal],
  ];
  return [`${row.jobId}  ${statusWords(row)}`, ...blocksLines(blocks)];
}

function toolText({ tool, agent, app, userId, sessionId }: JobRow): string {
  const session = [app, userId, sessionId].map((part) => visibleExcerpt(part, 80)).join('/');
  return `${visibleExcerpt(tool, 80)} of ${visibleExcerpt(agent, 80)}, session ${session}`;
}

function progressBlock({ progress, heardAt, status }: JobRow, now: number): Block[] {
  if (progress !== undefined) {
    return [['progress', [`${progressWords(progress)}  (${ago(progress.at, now)})`]]];
  }
  if (heardAt !== undefined) return [['heard', [ago(heardAt, now)]]];
  return status === 'running' ? [['progress', ['none was told yet']]] : [];
}

function pollLines({ polls }: JobRow, now: number): string[] {
  const { notYet, failed, failedInARow, lastError, lastAt } = polls;
  if (notYet + failed === 0) return [];
  const failures =
    failed === 0 ? [] : [`${failed} failed${failedInARow === 0 ? '' : `, ${failedInARow} in a row`}`];
  const last = lastAt === undefined ? [] : [`the last one ${ago(lastAt, now)}`];
  return [
    [`${notYet} not yet`, ...failures, ...last].join(', '),
    ...(lastError === undefined ? [] : [visibleExcerpt(lastError, 500)]),
  ];
}

function outcomeBlocks(row: JobRow, now: number): Block[] {
  const { status, outcome, endedAt, endedBy, endedByPerson, reason, mode, deliveredSeq } = row;
  if (status === 'running') return [];
  const person = endedByPerson === undefined ? '' : ` (${visibleText(endedByPerson)})`;
  const by = endedBy === undefined ? '' : `, by ${enderText(endedBy)}${person}`;
  const told =
    deliveredSeq === undefined
      ? 'the session has not been told yet'
      : `the session was told by event ${deliveredSeq}`;
  return [
    ['outcome', outcome === undefined ? [] : valueLines(outcome.response)],
    ['ended', endedAt === undefined ? [] : [`${clockTime(endedAt)} (${ago(endedAt, now)})${by}`]],
    ['reason', reason === undefined ? [] : [visibleText(reason)]],
    ['delivery', mode === 'detached' ? [told] : []],
  ];
}
