import type { RunningCall, TurnStatus, TurnUsage } from '../src/protocol/turn.ts';
import type { Mailbox } from './mailbox.ts';
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
): string {
  if (state === undefined) return 'waiting for a message';
  const { agent, beganAt, transcript } = state;
  const step = status === 'running' ? currentStep(state, running) : state.step;
  const paragraphs = [
    `**${plain(agent ?? 'agent')}**, step ${step}${sinceText(beganAt)}`,
    status === 'running' ? doingText(state, running) : status,
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
export function currentStep(state: InvocationState, running: readonly RunningCall[]): number {
  return running.length > 0 ? state.step : state.step + 1;
}

function doingText({ model }: InvocationState, running: readonly RunningCall[]): string {
  if (running.length > 0) return runningText(running);
  return `asking ${model === undefined ? 'the model' : code(model)}`;
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
  return time === undefined
    ? ''
    : ` since ${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Step and place of a call within the turn: the end of its key. */
function placeOf(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}

/** Names and ids that clients chose make no links, no pictures and no other paragraphs. */
function plain(text: string): string {
  const short = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT).toWellFormed()}…`;
  return short.replace(/\s+/g, ' ').replace(/[\\`*[\]<>]/g, '\\$&');
}

function code(text: string): string {
  return `\`${text}\``;
}
