import { askedLine, askedRequests } from '../../client/approvals/asked-requests.ts';
import type { FollowedEvent, StreamItem } from '../../client/stream/stream-item.ts';
import { isCompactedEvent } from '../../events/compacted-event.ts';
import { type Content, textOf } from '../../events/content.ts';
import { plansIn } from '../../protocol/agent-plan.ts';
import { shortCallKey } from '../../protocol/identity.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { JobLines } from '../jobs/job-lines.ts';
import { showJobCommand } from '../jobs/next-job-commands.ts';
import { codeLines, messageAuthor, responseLine, usageWords } from '../sessions/shown-values.ts';
import { painted as paint, type Style, terminalText } from '../terminal-text.ts';
import { ChunkLines } from './chunk-lines.ts';
import { drawOver, widthOf } from './draw-over.ts';
import { LiveLine } from './live-line.ts';
import { speakerOf, withPath } from './speaker.ts';

/** Where a command's output goes: events for programs or for people, all else on standard error. */
export interface Printer {
  /** Progress and remarks. */
  note(line: string): void;
  started(turn: SessionNames & { messageId: string; link: string | undefined }): void;
  event(followed: FollowedEvent): void;
  /** Text of an answer that is being written; its event comes later. */
  text(item: Extract<StreamItem, { type: 'text' }>): void;
  textDropped(item: Extract<StreamItem, { type: 'text dropped' }>): void;
  callStarted(call: Omit<Extract<StreamItem, { type: 'call started' }>, 'type' | 'runKey'>): void;
  callFinished(call: Omit<Extract<StreamItem, { type: 'call finished' }>, 'type' | 'runKey'>): void;
  /** Items of a streaming tool; its result comes with the event of its responses. */
  toolChunk(item: Extract<StreamItem, { type: 'tool chunk' }>): void;
  toolChunksDropped(item: Extract<StreamItem, { type: 'tool chunks dropped' }>): void;
  /** How a job of a call stands. */
  job(item: Extract<StreamItem, { type: 'job' }>): void;
  /** Ends a line that has begun, for somebody else to write. */
  endLine(): void;
  outcome(outcome: InvocationOutcome, names: SessionNames): void;
}

const MODEL: Style = ['bold', 'green'];

const LONGEST_VALUE = 160;

/**
 * JSON Lines on standard output: the turn's ADK events, one per line. A line that is none of these has a `type`, which events don't
 * have: a chunk of a tool, news of a job, or an event of an agent that a call runs. `holdfast` says which agent's it is.
 */
export function jsonPrinter(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
): Printer {
  const note = (line: string) => err.write(`${visibleLines(line)}\n`);
  return {
    note,
    started: ({ sessionId, messageId, link }) => {
      note(`session ${sessionId}, message ${messageId}`);
      if (link !== undefined) note(`Temporal UI: ${link}`);
    },
    event: ({ event, holdfast }) =>
      out.write(
        `${JSON.stringify(holdfast === undefined ? event : { type: 'child event', ...event, holdfast })}\n`,
      ),
    text: () => undefined,
    textDropped: () => undefined,
    callStarted: (call) => note(startedLine(withPath(call))),
    callFinished: (call) => note(finishedLine(withPath(call))),
    toolChunk: (item) => out.write(`${JSON.stringify(item)}\n`),
    toolChunksDropped: (item) => out.write(`${JSON.stringify(item)}\n`),
    job: (item) => out.write(`${JSON.stringify(item)}\n`),
    endLine: () => undefined,
    outcome: ({ status, error }) => {
      if (error !== undefined) note(`${status}: ${error.code}: ${error.message}`);
    },
  };
}

/** Text for people. */
export function terminalPrinter(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
  { folder }: { folder?: string } = {},
): Printer {
  const label = (author: string, style: Style) => `${paint(out, style, author)}  `;
  const live = new LiveLine({
    begin: (agent) => {
      jobs.interrupt();
      out.write(label(agent, MODEL));
    },
    write: (text) => out.write(visibleLines(text)),
    end: () => out.write('\n'),
    remark: (text) => {
      jobs.interrupt();
      out.write(`${paint(out, 'dim', text)}\n`);
    },
  });
  const chunks = new ChunkLines({
    write: (text) => {
      jobs.interrupt();
      err.write(paint(err, 'dim', text));
    },
    end: () => err.write('\n'),
  });
  const jobs = new JobLines({
    line: (text) => note(`  ${text}`),
    ...(err.isTTY ? { draw: (text: string) => overwrite(`  ${visibleLines(text)}`) } : {}),
    end: () => err.write('\n'),
    hint: (jobId) => showJobCommand({ jobId }, folder),
  });
  const overwrite = (text: string) => {
    live.interrupt();
    chunks.interrupt();
    drawOver(err, paint(err, 'dim', text.slice(0, widthOf(err))));
  };
  const warn = (line: string) => {
    live.interrupt();
    chunks.interrupt();
    jobs.interrupt();
    err.write(`${terminalText(line)}\n`);
  };
  const note = (line: string) => warn(paint(err, 'dim', visibleLines(line)));
  const say = (author: string, style: Style, text: string) => {
    jobs.interrupt();
    out.write(`${label(author, style)}${visibleLines(text)}\n`);
  };
  return {
    note,
    started: ({ app, userId, sessionId, messageId, link }) => {
      note(`session ${app}/${userId}/${sessionId}, message ${messageId}`);
      if (link !== undefined) warn(`${paint(err, 'dim', 'Temporal UI')} ${paint(err, 'cyan', link)}`);
    },
    event: (stored) => {
      const { kind, event } = stored;
      // The call has just shown what its agent is asked.
      if (kind === 'message' && stored.holdfast !== undefined) return;
      if (isCompactedEvent(event)) return note('the context was compacted: earlier events have a summary');
      const author = speakerOf(stored, event.author ?? '');
      chunks.interrupt();
      const isWritten = kind === 'model' && live.complete(stored, textOf(event.content));
      live.interrupt();
      for (const asked of askedRequests(stored)) say(author, 'yellow', askedLine(asked));
      for (const line of kind === 'request' ? [] : linesOf(event.content, isWritten)) {
        const style: Style = kind === 'message' ? 'bold' : kind === 'model' ? MODEL : 'dim';
        say(kind === 'message' ? messageAuthor(event.content) : author, style, line);
      }
      for (const { agent, lines } of plansIn(event.actions?.stateDelta)) {
        for (const line of lines) note(`  ${agent}  ${line}`);
      }
      if (event.errorCode !== undefined) {
        say(author, ['bold', 'red'], `${event.errorCode}: ${event.errorMessage ?? ''}`);
      }
    },
    // Text that was written to a file stays there, dropped or not.
    text: (item) => {
      if (!out.isTTY) return;
      chunks.interrupt();
      live.text(withPath(item));
    },
    textDropped: (item) => live.dropped(item),
    callStarted: (call) => note(`  ${startedLine(withPath(call))}`),
    callFinished: (call) => {
      chunks.settled(call.callKey);
      note(`  ${finishedLine(withPath(call))}`);
    },
    toolChunk: (item) => {
      live.interrupt();
      chunks.chunk(withPath(item));
    },
    toolChunksDropped: (item) => {
      live.interrupt();
      chunks.dropped(item);
    },
    job: (item) => jobs.item(withPath(item)),
    endLine: () => {
      live.interrupt();
      chunks.interrupt();
      jobs.interrupt();
    },
    outcome: ({ status, error, usage }, { app, userId, sessionId }) => {
      if (error !== undefined)
        warn(`${paint(err, 'red', status)}  ${visibleLines(`${error.code}: ${error.message}`)}`);
      note(usageWords(usage).join(', '));
      note(`go on with ${namingOptions({ app, userId, sessionId })}`);
    },
  };
}

/** The options that name a session, to be copied into a command line. */
export function namingOptions({ app, userId, sessionId }: SessionNames): string {
  return `--app ${shellWord(app)} --user ${shellWord(userId)} --session ${shellWord(sessionId)}`;
}

function startedLine({ tool, callKey, attempt }: { tool: string; callKey: string; attempt: number }): string {
  return `${tool} ${shortCallKey(callKey)} started${attempt > 1 ? `, attempt ${attempt}` : ''}`;
}

function finishedLine({ tool, callKey, failed }: { tool: string; callKey: string; failed: boolean }): string {
  return `${tool} ${shortCallKey(callKey)} ${failed ? 'failed' : 'finished'}`;
}

/** The model's text, without its thoughts. */
function linesOf(content: Content | undefined, withoutText: boolean): string[] {
  return (content?.parts ?? []).flatMap((part) => {
    const { text, thought, functionCall, functionResponse } = part;
    if (functionCall !== undefined) return [`→ ${functionCall.name}(${shown(functionCall.args ?? {})})`];
    if (functionResponse !== undefined) return [responseLine(functionResponse, shown)];
    return text && !thought && !withoutText ? [text] : codeLines(part);
  });
}

function shown(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length <= LONGEST_VALUE ? json : `${json.slice(0, LONGEST_VALUE)}… ${json.length} characters`;
}
