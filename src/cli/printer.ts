import { styleText } from 'node:util';
import type { Content } from '../events/content.ts';
import type { InvocationOutcome, TurnUsage } from '../protocol/turn.ts';
import type { SessionNames, StoredEvent } from '../store/store.ts';

/** Where a command's output goes: events for programs or for people, all else on standard error. */
export interface Printer {
  /** Progress and remarks. */
  note(line: string): void;
  started(turn: SessionNames & { messageId: string; link: string | undefined }): void;
  event(stored: StoredEvent): void;
  callStarted(call: { tool: string; callKey: string; attempt: number }): void;
  callSettled(call: { tool: string; callKey: string; failed: boolean }): void;
  outcome(outcome: InvocationOutcome, names: SessionNames): void;
}

type Style = Parameters<typeof styleText>[0];

function paint(stream: NodeJS.WriteStream, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

const LONGEST_VALUE = 160;

/** JSON Lines on standard output: one ADK event per line. */
export function jsonPrinter(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
): Printer {
  const note = (line: string) => err.write(`${line}\n`);
  return {
    note,
    started: ({ sessionId, messageId, link }) => {
      note(`session ${sessionId}, message ${messageId}`);
      if (link !== undefined) note(`Temporal UI: ${link}`);
    },
    event: ({ event }) => out.write(`${JSON.stringify(event)}\n`),
    callStarted: (call) => note(startedLine(call)),
    callSettled: (call) => note(settledLine(call)),
    outcome: ({ status, error }) => {
      if (error !== undefined) note(`${status}: ${error.code}: ${error.message}`);
    },
  };
}

/** Text for people. */
export function terminalPrinter(
  out: NodeJS.WriteStream = process.stdout,
  err: NodeJS.WriteStream = process.stderr,
): Printer {
  const note = (line: string) => err.write(`${paint(err, 'dim', line)}\n`);
  const say = (author: string, style: Style, text: string) =>
    out.write(`${paint(out, style, author)}  ${text}\n`);
  return {
    note,
    started: ({ app, userId, sessionId, messageId, link }) => {
      note(`session ${app}/${userId}/${sessionId}, message ${messageId}`);
      if (link !== undefined) err.write(`${paint(err, 'dim', 'Temporal UI')} ${paint(err, 'cyan', link)}\n`);
    },
    event: ({ kind, event }) => {
      const author = event.author ?? '';
      for (const line of linesOf(event.content)) {
        const style: Style = kind === 'message' ? 'bold' : kind === 'model' ? ['bold', 'green'] : 'dim';
        say(kind === 'message' ? 'you' : author, style, line);
      }
      if (event.errorCode !== undefined) {
        say(author, ['bold', 'red'], `${event.errorCode}: ${event.errorMessage ?? ''}`);
      }
    },
    callStarted: (call) => note(`  ${startedLine(call)}`),
    callSettled: (call) => note(`  ${settledLine(call)}`),
    outcome: ({ status, error, usage }, { app, userId, sessionId }) => {
      if (error !== undefined) err.write(`${paint(err, 'red', status)}  ${error.code}: ${error.message}\n`);
      note(usageLine(usage));
      note(`go on with --app ${app} --user ${userId} --session ${sessionId}`);
    },
  };
}

function usageLine({ modelCalls, totalTokens, cost, unknownCalls }: TurnUsage): string {
  const atLeast = unknownCalls === undefined ? '' : 'at least ';
  const spent = cost === undefined ? '' : `, cost ${atLeast}${Number(cost.toPrecision(3))}`;
  return `${modelCalls} model calls, ${atLeast}${totalTokens} tokens${spent}`;
}

function startedLine({ tool, callKey, attempt }: { tool: string; callKey: string; attempt: number }): string {
  return `${tool} ${placeOf(callKey)} started${attempt > 1 ? `, attempt ${attempt}` : ''}`;
}

function settledLine({ tool, callKey, failed }: { tool: string; callKey: string; failed: boolean }): string {
  return `${tool} ${placeOf(callKey)} ${failed ? 'failed' : 'settled'}`;
}

/** Step and place of a call within the turn: the end of its key. */
function placeOf(callKey: string): string {
  return callKey.split('.').slice(-2).join('.');
}

function linesOf(content: Content | undefined): string[] {
  return (content?.parts ?? []).flatMap(({ text, thought, functionCall, functionResponse }) => {
    if (functionCall !== undefined) return [`→ ${functionCall.name}(${shown(functionCall.args ?? {})})`];
    if (functionResponse !== undefined)
      return [`← ${functionResponse.name} ${shown(functionResponse.response ?? {})}`];
    return text && !thought ? [text] : [];
  });
}

function shown(value: unknown): string {
  const json = JSON.stringify(value);
  return json.length <= LONGEST_VALUE ? json : `${json.slice(0, LONGEST_VALUE)}… ${json.length} characters`;
}
