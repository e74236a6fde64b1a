import { IllegalStateError } from '@temporalio/common';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { testWorkflowBundle, workflowBundle } from '../../../worker/bundle.ts';
import { isRecord } from '../../protocol/json.ts';
import { EXPIRE_JOB, EXPIRE_REQUEST } from '../../protocol/names.ts';
import type { HistoryEvent, RecordedHistory } from './history-file.ts';

/** Where a history and the workflow code part. */
export interface Divergence {
  /** `nondeterminism`: the code would do something else. `failed`: it can't be replayed at all. */
  kind: 'nondeterminism' | 'failed';
  message: string;
  /** Ids of the first and the last event that don't replay any more; absent where no part of the history replays. */
  events?: { from: string; to: string };
}

const TASK_STARTED = /^(EVENT_TYPE_WORKFLOW_TASK_STARTED|WorkflowTaskStarted)$/;

/** @param path of a workflow bundle. Defaults to the packaged one. */
export function replayer(path?: string): (history: RecordedHistory) => Promise<Divergence | undefined> {
  quietRuntime();
  return async (history) => {
    const bundle = await (isOfTests(history) ? testWorkflowBundle(path) : workflowBundle(path));
    const divergence = await replay(bundle, history);
    if (divergence === undefined) return undefined;
    const events = await divergingEvents(bundle, history);
    return { ...divergence, ...(events === undefined ? {} : { events }) };
  };
}

type Bundle = Awaited<ReturnType<typeof workflowBundle | typeof testWorkflowBundle>>;

/** Whether something in it ran out of time by an order, which only test environments take. */
export function isOfTests({ events }: Pick<RecordedHistory, 'events'>): boolean {
  return events.some(({ workflowExecutionUpdateAcceptedEventAttributes: accepted }) => {
    const request = isRecord(accepted) ? accepted.acceptedRequest : undefined;
    const input = isRecord(request) ? request.input : undefined;
    return isRecord(input) && (input.name === EXPIRE_REQUEST || input.name === EXPIRE_JOB);
  });
}

async function replay(
  bundle: Bundle,
  { workflowId, events }: RecordedHistory,
): Promise<Divergence | undefined> {
  try {
    for await (const { error } of Worker.runReplayHistories({ workflowBundle: bundle }, [
      { workflowId, history: { events } },
    ])) {
      return error && divergenceOf(error);
    }
  } catch (error) {
    // The SDK throws what it can't read.
    if (error instanceof TypeError) return { kind: 'failed', message: error.message };
    throw error;
  }
  return undefined;
}

function divergenceOf(error: Error): Divergence {
  return {
    kind: error.name === 'DeterminismViolationError' ? 'nondeterminism' : 'failed',
    message: innermost(error.message),
  };
}

/** The SDK wraps what its core says into a Rust value's description. */
function innermost(message: string): string {
  const quoted = /\bmessage: ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  const text = quoted === undefined ? message : unquoted(quoted);
  return text.replace(/^\[TMPRL\d+\] /, '').replace(/^Nondeterminism error: /, '');
}

function unquoted(text: string): string {
  try {
    return JSON.parse(text);
  } catch {
    return text.slice(1, -1);
  }
}

/**
 * The events between the last workflow task up to which the history replays and the first one up to which it doesn't: core
 * doesn't always say.
 */
async function divergingEvents(
  bundle: Bundle,
  history: RecordedHistory,
): Promise<{ from: string; to: string } | undefined> {
  const { events } = history;
  const ends = events.flatMap(({ eventType }, index) =>
    TASK_STARTED.test(String(eventType)) ? [index + 1] : [],
  );
  if (ends.at(-1) !== events.length) ends.push(events.length);
  let good = -1;
  let bad = ends.length - 1;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    const part = { ...history, events: events.slice(0, ends[middle]) };
    if ((await replay(bundle, part)) === undefined) good = middle;
    else bad = middle;
  }
  const from = events[good < 0 ? 0 : (ends[good] ?? 0)];
  const to = events[(ends[bad] ?? 1) - 1];
  return from === undefined || to === undefined ? undefined : { from: idOf(from), to: idOf(to) };
}

function idOf({ eventId }: HistoryEvent): string {
  return String(eventId);
}

/** The SDK warns of every task that fails, and its native part writes to standard output by itself. */
function quietRuntime(): void {
  try {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => undefined),
      telemetryOptions: { logging: { forward: {}, filter: 'OFF' } },
    });
  } catch (error) {
    // This process has one already, of its own settings.
    if (!(error instanceof IllegalStateError)) throw error;
  }
}
