import { readFileSync } from 'node:fs';
import { workflowIdOf } from '../../protocol/identity.ts';
import { isRecord } from '../../protocol/json.ts';
import { AGENT_TURN, RETAIN_SESSIONS, TOOL_JOB } from '../../protocol/names.ts';
import { CliError } from '../cli-error.ts';

/** A history as JSON, the form of Temporal's own tools. */
export interface RecordedHistory {
  workflowId: string;
  workflowType: string;
  events: HistoryEvent[];
}

export interface HistoryEvent extends Record<string, unknown> {
  eventId?: unknown;
  eventType?: unknown;
}

const TYPES: readonly string[] = [AGENT_TURN, RETAIN_SESSIONS, TOOL_JOB];

/**
 * Reads what `temporal workflow show --output json` prints, what the Temporal UI downloads, and `{ workflowId, history }`.
 *
 * @throws CliError
 */
export function readHistory(path: string): RecordedHistory {
  return historyOf(parsed(path));
}

/** @throws CliError */
export function historyOf(value: unknown): RecordedHistory {
  const events = eventsOf(value);
  const [first] = events;
  const started = first?.workflowExecutionStartedEventAttributes;
  if (first === undefined || !isRecord(started)) {
    throw new CliError(
      'its first event is no WorkflowExecutionStarted: save the whole history, for example with ' +
        'temporal workflow show --workflow-id <id> --output json',
    );
  }
  const type = isRecord(started.workflowType) ? started.workflowType.name : undefined;
  if (typeof type !== 'string' || !TYPES.includes(type)) {
    throw new CliError(
      `it is of a workflow of type ${JSON.stringify(type)}; Holdfast's are ${TYPES.join(' and ')}`,
    );
  }
  const { encoding } = firstArgument(started);
  if (encoding !== undefined && !encoding.startsWith('json/')) {
    throw new CliError(
      `its payloads are encoded (${encoding}): save it through your codec server, for example with ` +
        'temporal workflow show --codec-endpoint <url> --output json',
    );
  }
  const workflowId = workflowIdIn(value, started);
  if (workflowId !== undefined) return { workflowId, workflowType: type, events };
  throw new CliError(
    'it does not say its workflow id: put the history into { "workflowId": "<app>/<user>/<session>", "history": … }',
  );
}

function parsed(path: string): unknown {
  const text = textIn(path);
  try {
    return JSON.parse(text);
  } catch {
    throw new CliError('it is not JSON');
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new CliError(`it can't be read: ${error.message}`);
  }
}

function eventsOf(value: unknown): HistoryEvent[] {
  const holder = isRecord(value) && isRecord(value.history) ? value.history : value;
  const events = isRecord(holder) ? holder.events : holder;
  if (Array.isArray(events) && events.every(isRecord)) return events;
  throw new CliError('it is no history: expected { "events": [ … ] }');
}

function workflowIdIn(value: unknown, started: Record<string, unknown>): string | undefined {
  for (const candidate of [isRecord(value) ? value.workflowId : undefined, started.workflowId]) {
    if (typeof candidate === 'string' && candidate !== '') return candidate;
  }
  const { data } = firstArgument(started);
  if (!isRecord(data)) return undefined;
  const { app, userId, sessionId } = data;
  if (typeof app !== 'string' || typeof userId !== 'string' || typeof sessionId !== 'string')
    return undefined;
  return workflowIdOf(app, userId, sessionId);
}

function firstArgument(started: Record<string, unknown>): { encoding?: string; data?: unknown } {
  const input = isRecord(started.input) ? started.input.payloads : undefined;
  const payload: unknown = Array.isArray(input) ? input[0] : undefined;
  if (!isRecord(payload) || !isRecord(payload.metadata)) return {};
  const encoding = textOf(payload.metadata.encoding);
  try {
    return { encoding, data: JSON.parse(textOf(payload.data)) };
  } catch {
    return { encoding };
  }
}

function textOf(base64: unknown): string {
  return typeof base64 === 'string' ? Buffer.from(base64, 'base64').toString() : '';
}
