import { randomUUID } from 'node:crypto';
import type { StoredEvent } from '../../contract/events.ts';
import { visibleEvents } from '../../flows/event-visibility.ts';
import { callKeyOf } from '../../protocol/identity.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { nearestName } from '../../schema/known-fields.ts';
import { CliError } from '../cli-error.ts';
import { processOutput } from '../command-output.ts';
import { tellJobAnswer } from '../jobs/end-job.ts';
import { jobLines } from '../jobs/job-text.ts';
import { nextJobCommands } from '../jobs/next-job-commands.ts';
import { nthLastTurn } from '../sessions/session-commands.ts';
import { ago, cutJson, tableLines, tokensText } from '../sessions/shown-values.ts';
import { transcriptLines, withHidden } from '../sessions/transcript.ts';
import { statusLines } from '../turns/turn-commands.ts';
import type { Chat } from './chat.ts';
import { answer, approve, reject, showWaiting } from './gate-commands.ts';

interface SlashCommand {
  name: string;
  argument?: string;
  does: string;
  /** It acts on the turn that runs. */
  steers?: true;
  /** It would take the ground away from a turn that runs. */
  needsIdle?: true;
  /** But not from one that waits for people or jobs. */
  leavesWaits?: true;
  /** Completions of its argument. */
  completes?: (chat: Chat) => readonly string[];
  run(chat: Chat, argument: string): Promise<boolean> | boolean;
}

const MOST_SESSIONS = 20;
const MOST_EVENTS = 40;

/** Commands of the chat of `holdfast dev`. */
export const COMMANDS: readonly SlashCommand[] = [
  { name: 'help', does: 'shows this', steers: true, run: (chat) => answered(chat, helpLines()) },
  { name: 'sessions', does: 'lists the newest sessions of this user', run: listSessions },
  {
    name: 'session',
    argument: '<id>|new',
    does: 'goes on in another session, or in a new one',
    needsIdle: true,
    leavesWaits: true,
    completes: (chat) => ['new', ...chat.listed],
    run: changeSession,
  },
  {
    name: 'fork',
    argument: '[seq]',
    does: 'goes on in a copy of this session, as it was at an event',
    needsIdle: true,
    run: fork,
  },
  {
    name: 'rewind',
    argument: '[turns|invocation]',
    does: 'hides the last turn, the last so many, or all from one on',
    needsIdle: true,
    run: rewind,
  },
  {
    name: 'retry',
    argument: '<call>',
    does: 'runs the turn anew from a call on; 2.0 is step 2, first call',
    needsIdle: true,
    completes: (chat) => chat.calls,
    run: async (chat, argument) => chat.retry(await pastCall(chat, argument)),
  },
  { name: 'state', does: 'shows the state of the session', run: showState },
  { name: 'events', argument: '[how many]', does: 'shows the last events of the session', run: showEvents },
  {
    name: 'agent',
    argument: '[name]',
    does: 'has an agent answer from now on; without a name the session’s last one',
    completes: (chat) => chat.agents(),
    run: changeAgent,
  },
  { name: 'status', does: 'shows how the turn stands', steers: true, run: showStatus },
  {
    name: 'interrupt',
    argument: '[text]',
    does: 'ends the turn that runs, and answers this message next',
    steers: true,
    run: interrupt,
  },
  {
    name: 'cancel',
    argument: '<call>|<job>',
    does: 'cancels one call of the turn that runs, or a job',
    steers: true,
    completes: (chat) => chat.calls,
    run: cancel,
  },
  { name: 'waiting', does: 'shows requests that wait for people', steers: true, run: showWaiting },
  {
    name: 'approve',
    argument: '[request]',
    does: 'lets a call run that waits for an approval',
    steers: true,
    run: approve,
  },
  {
    name: 'reject',
    argument: '[request] [reason]',
    does: 'has a call not run that waits for an approval',
    steers: true,
    run: reject,
  },
  {
    name: 'answer',
    argument: '[request] <answer>',
    does: 'answers a question of a tool or model: JSON, or text',
    steers: true,
    run: answer,
  },
  { name: 'jobs', does: 'shows the jobs of this session that go on', steers: true, run: showJobs },
  { name: 'ui', does: 'shows the page of this session in the Temporal UI', run: showLink },
  {
    name: 'reload',
    does: 'starts a new worker, as for a change of the agents file',
    run(chat) {
      chat.reload();
      return true;
    },
  },
  { name: 'quit', does: 'ends; turns that run are kept and go on with the next start', run: quit },
];

/** @throws CliError for a command that isn't there or can't run now. */
export async function runSlashCommand(chat: Chat, line: string): Promise<boolean> {
  const { name, argument } = parse(line);
  const command = COMMANDS.find((candidate) => candidate.name === name);
  if (command === undefined) {
    const near = nearestName(
      name,
      COMMANDS.map((each) => each.name),
    );
    throw new CliError(
      `there is no /${name}${near === undefined ? '' : `; did you mean /${near}?`} /help shows what there is; ` +
        'a message that begins with a slash is typed with two',
    );
  }
  const isLeft = command.leavesWaits === true && argument !== '' && chat.isBusy && (await chat.leave());
  if (command.needsIdle && chat.isBusy && !isLeft)
    throw new CliError(`/${name}: a turn runs: wait for its end, or press Ctrl-C`);
  return await command.run(chat, argument);
}

export function isSteering(line: string): boolean {
  const { name } = parse(line.trim());
  return COMMANDS.some((command) => command.steers && command.name === name);
}

/** For readline: what could be meant, and the part of the line that it stands for. */
export function completeLine(chat: Chat, line: string): [string[], string] {
  if (!line.startsWith('/')) return [[], line];
  const space = line.indexOf(' ');
  if (space === -1) {
    const names = COMMANDS.map(({ name, argument }) => `/${name}${argument === undefined ? '' : ' '}`);
    return [names.filter((name) => name.startsWith(line)), line];
  }
  const command = COMMANDS.find(({ name }) => `/${name}` === line.slice(0, space));
  const begun = line.slice(space + 1);
  return [(command?.completes?.(chat) ?? []).filter((word) => word.startsWith(begun)), begun];
}

function parse(line: string): { name: string; argument: string } {
  const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? [];
  return { name, argument: argument.trim() };
}

function helpLines(): string[] {
  const rows = COMMANDS.map(({ name, argument = '', does }) => [`/${name} ${argument}`.trim(), does]);
  const width = Math.max(...rows.map(([usage = '']) => usage.length));
  return [
    ...rows.map(([usage = '', does = '']) => `  ${usage.padEnd(width)}  ${does}`),
    '  Anything else is a message. While a turn runs, messages wait for their turn; Ctrl-C interrupts it.',
  ];
}

function answered(chat: Chat, lines: readonly string[]): true {
  chat.view.answer(lines);
  return true;
}

async function listSessions(chat: Chat): Promise<true> {
  const { app, userId } = chat.names;
  const list = { app, userId, limit: MOST_SESSIONS, withTotal: true };
  const { sessions, totalItems = 0 } = await chat.client.sessions.list(list);
  chat.listed = sessions.map(({ sessionId }) => sessionId);
  if (sessions.length === 0) return answered(chat, ['  no sessions yet']);
  const rows = sessions.map((session) => [
    session.sessionId === chat.names.sessionId ? '●' : '',
    visibleLines(session.sessionId),
    String(session.seq),
    ago(session.updatedAt),
    tokensText(session.usage),
    session.forkedFrom === undefined ? '' : `${session.forkedFrom.sessionId} at ${session.forkedFrom.seq}`,
  ]);
  const columns = ['', 'SESSION', 'EVENTS', 'UPDATED', 'TOKENS', 'FORK OF'];
  const more = totalItems > sessions.length ? [`  ${sessions.length} of ${totalItems}`] : [];
  return answered(chat, [...tableLines(columns, rows).map((line) => `  ${line}`), ...more]);
}

async function changeSession(chat: Chat, argument: string): Promise<true> {
  if (argument === '') return answered(chat, [`  ${chat.names.sessionId}`]);
  const sessionId = argument === 'new' ? shortSessionId() : argument;
  chat.names = { ...chat.names, sessionId };
  void chat.late.join(chat.names);
  const session = await chat.client.sessions.get({ ...chat.names, numRecentEvents: 4 });
  if (session === undefined) return answered(chat, [`  session ${sessionId}: new`]);
  answered(chat, [`  session ${sessionId}: ${session.seq} events`, ...eventLines(session.events)]);
  await chat.goOn();
  return true;
}

async function fork(chat: Chat, argument: string): Promise<true> {
  const at = argument === '' ? undefined : wholeNumber('/fork', argument);
  const from = chat.names.sessionId;
  const to = shortSessionId();
  const forked = await chat.client.sessions.fork({ ...chat.names, to, ...(at === undefined ? {} : { at }) });
  chat.names = { ...chat.names, sessionId: forked.sessionId };
  return answered(chat, [`  session ${forked.sessionId}: the first ${forked.seq} events of ${from}`]);
}

async function rewind(chat: Chat, argument: string): Promise<true> {
  const beforeInvocationId = argument.startsWith('e-')
    ? argument
    : nthLastTurn(
        (await chat.client.sessions.get(chat.names))?.events ?? [],
        argument === '' ? 1 : wholeNumber('/rewind', argument),
        '/rewind',
      );
  const marker = await chat.client.sessions.rewind({ ...chat.names, beforeInvocationId });
  return answered(chat, [
    `  events ${(marker.hidesAfter ?? 0) + 1} to ${marker.seq - 1} are hidden; /events shows them`,
  ]);
}

async function showState(chat: Chat): Promise<true> {
  const session = await chat.client.sessions.get({ ...chat.names, numRecentEvents: 0 });
  const entries = Object.entries(session?.state ?? {});
  if (entries.length === 0) return answered(chat, ['  no state']);
  return answered(
    chat,
    entries.map(([key, value]) => visibleLines(`  ${key} = ${cutJson(value, 1_000)}`)),
  );
}

async function showEvents(chat: Chat, argument: string): Promise<true> {
  const numRecentEvents = argument === '' ? MOST_EVENTS : wholeNumber('/events', argument);
  const session = await chat.client.sessions.get(chat.names);
  if (session === undefined || session.events.length === 0) return answered(chat, ['  no events yet']);
  return answered(chat, eventLines(withHidden(session.events).slice(-numRecentEvents)));
}

function eventLines(events: readonly StoredEvent[]): string[] {
  return transcriptLines(events, processOutput()).map((line) => `  ${line}`);
}

function changeAgent(chat: Chat, argument: string): true {
  if (argument === '') {
    chat.agent = undefined;
    return answered(chat, ['  the session’s last agent answers', `  there are ${chat.agents().join(', ')}`]);
  }
  if (!chat.agents().includes(argument))
    throw new CliError(`/agent: there is no ${argument}; there are ${chat.agents().join(', ')}`);
  chat.agent = argument;
  return answered(chat, [`  ${argument} answers from now on`]);
}

async function showStatus(chat: Chat): Promise<true> {
  const status = await chat.client.status(chat.names);
  if (status === undefined) return answered(chat, ['  no turn runs']);
  return answered(
    chat,
    statusLines(status).map((line) => `  ${line}`),
  );
}

async function interrupt(chat: Chat, argument: string): Promise<boolean> {
  if (argument !== '') return await chat.send(argument, 'interrupt');
  if (!(await chat.interrupt())) throw new CliError('/interrupt: no turn runs');
  return true;
}

async function cancel(chat: Chat, argument: string): Promise<boolean> {
  if (argument.startsWith('job-')) {
    const line = (text = '') => chat.view.answer([`  ${text}`]);
    return tellJobAnswer(await chat.client.jobs.cancel(argument), { line, note: line }) === 0;
  }
  const receipt = await chat.client.cancelCall(chat.names, { callKey: openCall(chat, argument) });
  return answered(chat, [receipt.confirmed ? `  cancelling ${receipt.callKey}` : `  ${receipt.reason}`]);
}

/** Jobs of this session that go on. */
async function showJobs(chat: Chat): Promise<true> {
  const { app, userId, sessionId } = chat.names;
  const running = await chat.client.jobs.list({ app, userId, sessionId });
  const lines = running.flatMap((row) => [
    ...jobLines(row, { temporal: [], args: [] }),
    ...nextJobCommands(row, chat.folder).map((command) => `  ${command}`),
  ]);
  return answered(
    chat,
    (lines.length === 0 ? ['no job goes on'] : lines).map((line) => `  ${line}`),
  );
}

function showLink(chat: Chat): true {
  const link = chat.linkOf(chat.names);
  if (link === undefined) throw new CliError('/ui: the Temporal UI is not known; set TEMPORAL_UI_URL');
  return answered(chat, [`  ${link}`]);
}

function quit(chat: Chat): true {
  chat.quit();
  return true;
}

/** A whole key, or step and place of a call of the turn that runs. */
function openCall(chat: Chat, argument: string): string {
  const key = wholeKey(argument);
  if (key !== undefined) return key;
  if (chat.invocationId === undefined)
    throw new CliError('/cancel: no turn was shown yet; give the whole key');
  return `${chat.invocationId}.${argument}`;
}

/** A whole key, or step and place of the session's last call that has them. */
async function pastCall(chat: Chat, argument: string): Promise<string> {
  const key = wholeKey(argument);
  if (key !== undefined) return key;
  const session = await chat.client.sessions.get(chat.names);
  const keys = visibleEvents(session?.events ?? []).flatMap(({ runKey, step, event }) =>
    (event.content?.parts ?? [])
      .filter(({ functionCall }) => functionCall !== undefined)
      .map((_part, index) => callKeyOf(runKey, step, index)),
  );
  const found = keys.findLast((each) => each.endsWith(`.${argument}`));
  if (found !== undefined) return found;
  throw new CliError(`/retry: the session has no call ${argument}; /events shows the keys`);
}

/** Undefined for step and place. */
function wholeKey(argument: string): string | undefined {
  if (argument === '')
    throw new CliError('name a call: its key, or step and place like 1.0; /events shows the keys');
  return /^\d+\.\d+$/.test(argument) ? undefined : argument;
}

function wholeNumber(what: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new CliError(`${what}: expected a whole number, got ${JSON.stringify(text)}`);
}

export function shortSessionId(): string {
  return `s-${randomUUID().slice(0, 8)}`;
}
