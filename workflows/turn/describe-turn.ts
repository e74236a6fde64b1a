import type { JobProgress } from '../../src/contract/jobs.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { shortCallKey } from '../../src/protocol/identity.ts';
import type { WaitingJob } from '../../src/protocol/job.ts';
import type { RunningCall, RunningChild, TurnStatus } from '../../src/protocol/turn.ts';
import { excerpt, visibleText } from '../../src/protocol/visible-text.ts';
import type { PendingRequest } from '../approvals/request-book.ts';
import { WAITS } from '../children/children.ts';
import type { Mailbox } from '../messages/mailbox.ts';
import type { InvocationState } from './turn-state.ts';

const MOST_CALLS = 8;

/** The state of a running turn, and its waits. */
export interface Work {
  running: readonly RunningCall[];
  /** The step of calls that the activity of a step runs. */
  step?: number | undefined;
  pending: readonly PendingRequest[];
  jobs: readonly WaitingJob[];
  children?: readonly RunningChild[];
}

/**
 * How the turn looks to an operator: the Markdown of its current details.
 *
 * @param sessionName `<app>/<user>/<session>`, as in workflow ids.
 */
export function describeTurn(
  sessionName: string,
  status: TurnStatus['status'],
  state: InvocationState | undefined,
  mailbox: Pick<Mailbox, 'waiting' | 'state'>,
  work: Work,
): string {
  if (state === undefined) return 'waiting for a message';
  const { agent, beganAt, transcript } = state;
  const isWorking = status === 'running' || status.startsWith('waiting_');
  const step = isWorking ? currentStep(state, work) : state.step;
  const paragraphs = [
    `**${plain(agent ?? 'agent')}**, step ${step}${sinceText(beganAt)}`,
    ...(isWorking ? doingTexts(state, work) : [status]),
    spentText(state.usage),
  ];
  if (mailbox.waiting > 0) paragraphs.push(waitingText(mailbox));
  paragraphs.push(...mailbox.state.notes.map(plain));
  paragraphs.push(
    transcript === undefined
      ? `transcript: ${code(`npx holdfast sessions show ${sessionName}`)}`
      : `[transcript](${transcript})`,
  );
  return paragraphs.join('\n\n');
}

/** The step whose calls run, else the one that the model is asked for. */
export function currentStep(state: InvocationState, { running, step, pending, jobs }: Work): number {
  if (step !== undefined) return step;
  return running.length + pending.length + jobs.length > 0 ? state.step : state.step + 1;
}

function doingTexts({ model }: InvocationState, { running, pending, jobs, children = [] }: Work): string[] {
  const texts = pending.length > 0 ? [requestsText(pending)] : [];
  if (children.length > 0) texts.push(...waitsText(children), childrenText(children));
  if (jobs.length > 0) texts.push(jobsText(jobs));
  if (running.length > 0) texts.unshift(runningText(running));
  return texts.length > 0 ? texts : [`asking ${model === undefined ? 'the model' : code(model)}`];
}

const WHAT_TO_DO = {
  confirmation: 'approve',
  input: 'answer',
  credential: 'provide-credential',
} as const;

const KIND_OF: Partial<Record<string, keyof typeof WHAT_TO_DO>> = Object.fromEntries(
  WAITS.map(([kind, state]) => [state, kind]),
);

function requestsText(pending: readonly PendingRequest[]): string {
  const shown = pending.slice(0, MOST_CALLS).map((request) => {
    const { gate, call, since, until, votes } = request;
    const { summary = '' } = call;
    return [
      `- ${code(call.tool)} ${shortCallKey(call.callKey)}${sinceText(since)}${timeText(' until', until)}`,
      ...(gate.hint === '' ? [] : [plain(gate.hint)]),
      ...(summary === '' ? [] : [plain(summary)]),
      ...(votes.quorum > 1 ? [`${votes.approvals} of ${votes.quorum} have approved`] : []),
      code(`npx holdfast approvals ${WHAT_TO_DO[gate.kind]} ${gate.requestId}`),
    ].join('  \n  ');
  });
  const more = pending.length - shown.length;
  return listText('waiting for', shown, more);
}

function jobsText(jobs: readonly WaitingJob[]): string {
  const shown = jobs.slice(0, MOST_CALLS).map((job) => `- ${jobLines(job).join('  \n  ')}`);
  const more = jobs.length - shown.length;
  return listText('waiting for', shown, more);
}

function runningText(running: readonly RunningCall[]): string {
  const shown = running.slice(0, MOST_CALLS).map(({ tool, callKey, since, progress }) => {
    const what = `- ${code(tool)} ${shortCallKey(callKey)}${sinceText(since)}`;
    return [what, ...progressLines(progress)].join('  \n  ');
  });
  const more = running.length - shown.length;
  return listText('running', shown, more);
}

/** Waiting children come first, with their waits. */
function childrenText(children: readonly RunningChild[]): string {
  const order = (child: RunningChild) => (child.waits === undefined ? 1 : 0);
  const shown = children
    .toSorted((one, other) => order(one) - order(other))
    .slice(0, MOST_CALLS)
    .map(({ path, status, since, workflowId }) => {
      const does = status === 'running' ? 'runs' : waitsFor(status);
      return [`- ${plain(path.join(' / '))}: ${does}${sinceText(since)}`, code(workflowId)].join('  \n  ');
    });
  const more = children.length - shown.length;
  return listText('agents', shown, more);
}

function waitsText(children: readonly RunningChild[]): string[] {
  const waits = children.flatMap((child) => child.waits ?? []);
  if (waits.length === 0) return [];
  const shown = waits.slice(0, MOST_CALLS).map(({ path, tool, status, requestId, since }) => {
    const what = `- ${plain(path.join(' / '))}: ${waitsFor(status)} of ${code(tool)}${sinceText(since)}`;
    const verb = requestId === undefined ? undefined : WHAT_TO_DO[KIND_OF[status] ?? 'confirmation'];
    return [what, ...(verb === undefined ? [] : [code(`npx holdfast approvals ${verb} ${requestId}`)])].join(
      '  \n  ',
    );
  });
  const untold = children.reduce((sum, { more = 0 }) => sum + more, 0);
  const more = waits.length - shown.length + untold;
  return [listText('below', shown, more)];
}

/** The Temporal UI takes a list that a line stands before, with nothing between, for one paragraph. */
function listText(title: string, items: readonly string[], more: number): string {
  return `${title}\n\n${[...items, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n')}`;
}

function waitsFor(status: string): string {
  return status.replace('waiting_', 'waits for ');
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

/** Lines of Markdown: what the job is, how far it has got, and how an operator sees more of it. */
export function jobLines({ jobId, tool, callKey, since, until, progress }: WaitingJob): string[] {
  return [
    `job of ${code(tool)} ${shortCallKey(callKey)}${sinceText(since)}${timeText(' until', until)}`,
    ...progressLines(progress),
    code(`npx holdfast jobs show ${jobId}`),
  ];
}

/** No line where nothing was said. */
export function progressLines(progress: JobProgress | undefined): string[] {
  const { value, message = '' } = progress ?? {};
  const share = value === undefined ? '' : `${Math.round(value * 100)} %`;
  const text = [share, plain(message)].filter((part) => part !== '').join(' · ');
  return text === '' ? [] : [text];
}

const LONGEST_TEXT = 300;

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function sinceText(time: number | undefined): string {
  return timeText(' since', time);
}

/** Anybody may have written the time: one that no calendar has gives no text. */
export function timeText(what: string, time: number | undefined): string {
  const date = new Date(time ?? Number.NaN);
  if (Number.isNaN(date.getTime())) return '';
  return `${what} ${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Text of clients and models can't make links, pictures or paragraphs, change the writing direction or hide characters. */
export function plain(text: string): string {
  const short = excerpt(text, LONGEST_TEXT);
  return visibleText(short.replace(/\s+/g, ' ')).replace(/[\\`*[\]<>]/g, '\\$&');
}

export function code(text: string): string {
  return `\`${visibleText(text).replace(/[\s`]+/g, ' ')}\``;
}
