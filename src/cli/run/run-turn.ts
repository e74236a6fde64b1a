import { FollowerTooSlow, NoAnswer } from '../../client/client-errors.ts';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import type { FollowedEvent, StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { CliError } from '../cli-error.ts';
import type { GateDesk } from '../gates/gate-desk.ts';
import type { Printer } from './printer.ts';

export type TurnOfCommand = OutgoingMessage & { rootAgent: string; messageId: string };

/** How far a turn was printed; kept where it is followed in another way from there on. */
export interface Printed {
  begun: boolean;
  /** Of the turn's last event that was printed. */
  seq: number | undefined;
  /** The seq to go on after, agents of its calls included. */
  place: number | string | undefined;
}

export interface TurnPlace {
  /** That of the agents file; another one's turns are not followed. */
  taskQueue: string;
  linkOf: (workflowId: string, runId: string) => string | undefined;
  printer: Printer;
  printed: Printed;
  /** Where the turn waits for people. */
  desk: GateDesk;
}

/** How long a worker has to say whether other messages wait, milliseconds. */
const WORD_OF_OTHERS = 1_000;

/** One turn to its end: sent, attached to, or printed from what was recorded. */
export async function runTurn(
  api: HoldfastApi,
  turn: TurnOfCommand,
  { taskQueue, linkOf, printer, printed, desk }: TurnPlace,
): Promise<InvocationOutcome> {
  const { app, userId, sessionId, messageId } = turn;
  const known = await api.turn({ app, userId, sessionId, messageId });
  if (known !== undefined && (await known.receipt()).status === 'finished') {
    if (!printed.begun) printer.note(`message ${messageId} was answered before; this is its recorded turn`);
    await print(known, printer, printed);
    return await known.result();
  }
  const handle = await api.sendMessage(turn);
  desk.serve(api);
  if (handle.taskQueue !== taskQueue) {
    throw new CliError(
      `message ${messageId} is under way on the task queue ${handle.taskQueue}, of another folder or agents file: ` +
        'run it there, or give both the same HOLDFAST_STORE and HOLDFAST_TASK_QUEUE',
    );
  }
  if (!printed.begun) {
    if (handle.disposition === 'attached') printer.note(`message ${messageId} is under way; following it`);
    else if (handle.disposition === 'sent')
      printer.note(`the session is answering another message; ${messageId} comes after it`);
    printer.started({ ...turn, link: linkOf(handle.workflowId, handle.runId) });
    printed.begun = true;
  }
  // It may be queued after a waiting turn, or wait already.
  if (handle.disposition !== 'started') desk.waits();
  if (handle.disposition === 'attached') await printParkedJobs(api, turn, printer);
  await print(handle, printer, printed, desk);
  const outcome = await handle.result();
  if ((printed.seq ?? 0) < outcome.events.to) {
    throw new CliError(
      `the turn ran in another process with another store, up to event ${outcome.events.to}; this one's ends at ` +
        `${printed.seq ?? 0}: give both the same HOLDFAST_STORE, or each its own HOLDFAST_TASK_QUEUE`,
    );
  }
  return outcome;
}

/** Prints what goes on after a turn's end: messages that wait, and jobs, whose outcome the model is told. */
export async function tellGoingOn(
  api: HoldfastApi,
  turn: TurnOfCommand,
  printer: Pick<Printer, 'note'>,
  answers: string,
): Promise<void> {
  const others = await othersWaiting(api, turn);
  if (others > 0) {
    const which = others === 1 ? 'another message waits' : `${others} other messages wait`;
    printer.note(`${which} in this session: answered by ${answers}`);
  }
  const { app, userId, sessionId } = turn;
  const running = await api.jobs.list({ app, userId, sessionId });
  const [job] = running;
  if (job === undefined) return;
  const which = running.length === 1 ? `the job ${job.jobId} goes on` : `${running.length} jobs go on`;
  printer.note(`${which} (holdfast jobs list); the model is told of what comes of it by ${answers}`);
}

/** Jobs that a turn waits for since before it was followed: nobody tells of those again. */
async function printParkedJobs(
  { jobs }: Pick<HoldfastApi, 'jobs'>,
  { app, userId, sessionId }: SessionNames,
  printer: Pick<Printer, 'job'>,
): Promise<void> {
  for (const row of await jobs.list({ app, userId, sessionId })) {
    const { runKey, callKey, tool, jobId, status, mode, progress } = row;
    if (mode !== 'parked') continue;
    const item = { type: 'job', runKey, callKey, tool, jobId, status, mode } as const;
    printer.job(progress === undefined ? item : { ...item, progress });
  }
}

/** Messages that are queued after an ended turn, or are being answered; 0 if that isn't known. */
async function othersWaiting(api: HoldfastApi, turn: TurnOfCommand): Promise<number> {
  const { app, userId, sessionId } = turn;
  try {
    const status = await api.status({ app, userId, sessionId }, { timeout: WORD_OF_OTHERS });
    if (status === undefined) return 0;
    return status.queued + (status.status === 'running' ? 1 : 0);
  } catch (error) {
    if (error instanceof NoAnswer) return 0;
    throw error;
  }
}

/** A turn as it comes, until it has ended. */
export async function print(
  handle: TurnHandle,
  printer: Printer,
  printed: Printed,
  desk?: Pick<GateDesk, 'heard'>,
): Promise<void> {
  for (;;) {
    try {
      const { place: after } = printed;
      for await (const item of handle.stream(after === undefined ? {} : { after })) {
        if (item.type === 'event') passed(printed, item);
        printItem(printer, item);
        desk?.heard(item);
      }
      return;
    } catch (error) {
      // Standard output is read slowly: what is stored comes nevertheless.
      if (!(error instanceof FollowerTooSlow)) throw error;
      printed.place = error.after;
    }
  }
}

function passed(printed: Printed, { seq, place, holdfast }: FollowedEvent): void {
  printed.place = place ?? seq;
  if (holdfast === undefined) printed.seq = seq;
}

export function printItem(printer: Printer, item: StreamItem): void {
  if (item.type === 'event') printer.event(item);
  else if (item.type === 'text') printer.text(item);
  else if (item.type === 'text dropped') printer.textDropped(item);
  else if (item.type === 'call started') printer.callStarted(item);
  else if (item.type === 'tool chunk') printer.toolChunk(item);
  else if (item.type === 'tool chunks dropped') printer.toolChunksDropped(item);
  else if (item.type === 'job') printer.job(item);
  else printer.callFinished(item);
}
