import type { RunningCall, TurnStatus, TurnUsage } from '../src/protocol/turn.ts';
import { visibleText } from '../src/protocol/visible-text.ts';
import type { Mailbox } from './mailbox.ts';
import type { PendingRequest } from './request-book.ts';
import type { InvocationState } from './turn-state.ts';

const MOST_CALLS = 8;
const LONGEST_TEXT = 300;

/** How the turn looks to an operator: the Markdown of its current details. */
export function describeTurn(
  workflowId: string,
  status: TurnStatus['status'],
  state: InvocationState | undefined,
  running: readonly RunningCall[],
  mailbox: Pick<Mailbox, 'waiting' | 'state'>,
  pending: readonly PendingRequest[] = [],
): string {
  if (state === undefined) return 'waiting for a message';
  const { agent, beganAt, transcript } = state;
  const isWorking = status === 'running' || status.startsWith('waiting_');
  const step = isWorking ? currentStep(state, running, pending) : state.step;
  const paragraphs = [
    `**${plain(agent ?? 'agent')}**, step ${step}${sinceText(beganAt)}`,
    ...(isWorking ? doingTexts(state, running, pending) : [status]),
    spentText(state.usage),
  ];
  if (mailbox.waiting > 0) paragraphs.push(waitingText(mailbox));
  paragraphs.push(...mailbox.state.notes.map(plain));
  paragraphs.push(
    transcript === undefined
      ? `transcript: ${code(`holdfast sessions show ${workflowId}`)}`
      : `[transcript](${transcript})`,
  );
  return paragraphs.join('\n\n');
}

/** The step whose calls run, else the one that the model is asked for. */
export function currentStep(
  state: InvocationState,
  running: readonly RunningCall[],
  pending: readonly PendingRequest[],
): number {
  return running.length + pending.length > 0 ? state.step : state.step + 1;
}

function doingTexts(
  { model }: InvocationState,
  running: readonly RunningCall[],
  pending: readonly PendingRequest[],
): string[] {
  const texts = pending.length > 0 ? [requestsText(pending)] : [];
  if (running.length > 0) texts.unshift(runningText(running));
  return texts.length > 0 ? texts : [`asking ${model === undefined ? 'the model' : code(model)}`];
}

const WHAT_TO_DO = {
  confirmation: 'approve',
  input: 'answer',
  credential: 'provide-credential',
} as const;

function requestsText(pending: readonly PendingRequest[]): string {
  const shown = pending.slice(0, MOST_CALLS).map((request) => {
    const { gate, call, since, until, votes } = request;
    const { summary = '' } = call;
    return [
      `- ${code(call.tool)} ${placeOf(call.callKey)}${sinceText(since)}${timeText(' until', until)}`,
      ...(gate.hint === '' ? [] : [plain(gate.hint)]),
      ...(summary === '' ? [] : [plain(summary)]),
      ...(votes.quorum > 1 ? [`${votes.approvals} of ${votes.quorum} have approved`] : []),
      code(`holdfast approvals ${WHAT_TO_DO[gate.kind]} ${gate.requestId}`),
    ].join('  \n  ');
  });
  const more = pending.length - shown.length;
  return ['waiting for', ...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

function runningText(running: readonly RunningCall[]): string {
  const shown = running
    .slice(0, MOST_CALLS)
    .map(({ tool, callKey, since }) => `- ${code(tool)} ${placeOf(callKey)}${sinceText(since)}`);
  const more = running.length - shown.length;
  return ['running', ...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

function spentText({ modelCalls, totalTokens, cost, unknownCalls }: TurnUsage): string {
  const atLeast = unknownCalls === undefined ? '' : 'at least ';
  const price = cost === undefined ? '' : `, cost ${atLeast}${Number(cost.toPrecision(3))}`;
  return `spent: ${counted(modelCalls, 'model call')}, ${atLeast}${counted(totalTokens, 'token')}${price}`;
}

function waitingText({ waiting, state }: Pick<Mailbox, 'waiting' | 'state'>): string {
  const oldest = state.queue.reduce<number | undefined>(
    (first, { cameAt }) =>
      cameAt === undefined || (first !== undefined && first <= cameAt) ? first : cameAt,
    undefined,
  );
  return `${counted(waiting, 'message')} wait${waiting === 1 ? 's' : ''}${sinceText(oldest)}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function sinceText(time: number | undefined): string {
  return timeText(' since', time);
}

/** A year that no calendar has is no reason to fail. */
const LAST_DAY = 8.64e15;

function timeText(what: string, time: number | undefined): string {
  if (time === undefined || time > LAST_DAY) return '';
  return `${what} ${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Step and place of a call within the turn: the end of its key. */
function placeOf(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}

/** What clients and models wrote makes no links, no pictures and no other paragraphs, turns nothing round and hides nothing. */
function plain(text: string): string {
  const short = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}…`;
  return visibleText(short.replace(/\s+/g, ' ')).replace(/[\\`*[\]<>]/g, '\\$&');
}

function code(text: string): string {
  return `\`${text}\``;
}
