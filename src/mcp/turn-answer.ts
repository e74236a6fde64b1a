import type { CallToolResult, ContentBlock, Server } from '@modelcontextprotocol/server';
import { nextCommands } from '../approvals/next-commands.ts';
import { LONGEST_NAME } from '../contract/message-limits.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import { type Part, textOf } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import { isRecord } from '../protocol/json.ts';
import type { TurnResult } from '../protocol/turn.ts';
import { excerpt } from '../protocol/visible-text.ts';
import { TASKS_EXTENSION } from '../tools/mcp/mcp-task.ts';
import { questionText } from './asked-people.ts';
import type { McpCaller } from './mcp-caller.ts';
import { AWAIT_TURN, type OfferedTool } from './offered-tools.ts';
import { artifactLinks, resourceBody } from './session-resources.ts';
import type { TurnStanding } from './turn-standing.ts';

/** A turn that a call of a tool has begun. */
export interface TurnOfCall {
  sessionId: string;
  messageId: string;
}

/** The name of a turn for clients: `<session>/<message>`, both URI-encoded. */
export function turnIdOf({ sessionId, messageId }: TurnOfCall): string {
  return `${encodeURIComponent(sessionId)}/${encodeURIComponent(messageId)}`;
}

/** Characters of a question in a text. */
const LONGEST_QUESTION = 2_000;
/** Characters of a turn's name: a character of its two names takes nine at most. */
const LONGEST_TURN_ID = 2 * 9 * LONGEST_NAME + 1;

/** Undefined for a text that names no turn. */
export function turnOfId(id: unknown): TurnOfCall | undefined {
  if (typeof id !== 'string' || id.length > LONGEST_TURN_ID) return undefined;
  try {
    const [sessionId = '', messageId = '', ...more] = id.split('/').map(decodeURIComponent);
    return sessionId === '' || messageId === '' || more.length > 0 ? undefined : { sessionId, messageId };
  } catch {
    return undefined;
  }
}

/** The result of a call whose turn has ended: the response of a tool, or the answer of an agent. */
export function endedResult(
  { sessionId }: TurnOfCall,
  { tool }: Pick<OfferedTool, 'tool'>,
  { status, error, text, output }: TurnResult,
  events: readonly Event[],
): CallToolResult {
  if (status !== 'completed') {
    const { code, message } = error ?? { code: status, message: `the turn is ${status}` };
    return errorResult(`${code}: ${message}`);
  }
  const links = artifactLinks(sessionId, events);
  const parts = events.flatMap(({ content }) => content?.parts ?? []);
  const at = parts.findLastIndex(({ functionResponse }) => functionResponse?.name === tool);
  // A callback may have answered in the tool's place.
  if (tool !== undefined && at !== -1) return toolResult(parts.slice(at), links);
  const last = events.findLast(({ author, content }) => author !== 'user' && textOf(content) !== '');
  const answer = typeof text === 'string' ? text : textOf(last?.content, '\n');
  const value = output !== undefined && 'value' in output ? { output: output.value } : {};
  return {
    content: [
      { type: 'text', text: answer },
      ...links,
      { type: 'text', text: `To go on with this conversation, give session: ${sessionId}` },
    ],
    structuredContent: { status: 'completed', session: sessionId, answer, ...value },
  };
}

/** The response of a tool that was called by name, with its media, which may follow it. */
function toolResult([first, ...more]: readonly Part[], links: readonly ContentBlock[]): CallToolResult {
  const response = first?.functionResponse;
  const value: unknown = response?.response ?? {};
  if (isRecord(value) && typeof value.error === 'string') return errorResult(value.error);
  const media = [...(response?.parts ?? []), ...more].flatMap((part) => mediaOf(part as Part));
  return {
    content: [{ type: 'text', text: shownValue(value) }, ...media, ...links],
    ...(isRecord(value) ? { structuredContent: value } : {}),
  };
}

/** A text that is the whole response stands alone. */
function shownValue(value: unknown): string {
  const [first, ...more] = isRecord(value) ? Object.values(value) : [];
  return typeof first === 'string' && more.length === 0 ? first : JSON.stringify(value);
}

function mediaOf({ inlineData }: Part): ContentBlock[] {
  const { data, mimeType = 'application/octet-stream' } = inlineData ?? {};
  if (data === undefined) return [];
  if (mimeType.startsWith('image/')) return [{ type: 'image', data, mimeType }];
  if (mimeType.startsWith('audio/')) return [{ type: 'audio', data, mimeType }];
  return [
    { type: 'resource', resource: { uri: 'holdfast://result', mimeType, ...resourceBody(mimeType, data) } },
  ];
}

/**
 * The result of a call whose turn goes on: how to come back to it.
 *
 * @param news lines that the client should know of first.
 */
export function openResult(
  turn: TurnOfCall,
  requests: readonly ApprovalRow[],
  { pageOf, folder }: Pick<McpCaller, 'pageOf' | 'folder'>,
  news: readonly string[] = [],
): CallToolResult {
  const id = turnIdOf(turn);
  const waits = requests.map((row) => {
    const page = pageOf(row.requestId);
    const answer = page === undefined ? { commands: nextCommands(row, folder) } : { page };
    return { request: row.requestId, question: questionText(row), ...answer };
  });
  const status = waits.length === 0 ? 'working' : 'waiting';
  const lines = waits.flatMap(({ request, question, page, commands = [] }) => [
    `- ${excerpt(question, LONGEST_QUESTION).replaceAll('\n', '\n  ')}`,
    page === undefined ? `  Request ${request} is answered by` : `  It is answered at ${page}`,
    ...commands.map((command) => `    ${command}`),
  ]);
  const text = [
    ...news,
    status === 'working' ? 'The turn is still under way.' : 'The turn waits for a person:',
    ...lines,
    `Call ${AWAIT_TURN} with turn: ${id} for its answer.`,
  ].join('\n');
  return {
    content: [{ type: 'text', text }],
    structuredContent: {
      status,
      session: turn.sessionId,
      turn: id,
      ...(waits.length === 0 ? {} : { waits }),
    },
  };
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

/** Milliseconds that a call may take before it becomes a task. */
export const TASK_AFTER = 750;
/** Milliseconds after which a client should ask again. */
const POLL_INTERVAL = 2_000;

/** The answer to a call that goes on as a task. */
export type CallBecomesTask = CallToolResult & ReturnType<typeof taskOf> & { resultType: 'task' };

/** Whether a client takes a task in place of a result. */
export function takesTasks(server: Server): boolean {
  const { extensions } = server.getClientCapabilities() ?? {};
  return isRecord(extensions) && isRecord(extensions[TASKS_EXTENSION]);
}

/** The answer to a call that goes on as a task. */
export function taskOfCall(turn: TurnOfCall, standing: TurnStanding): CallBecomesTask {
  return { ...taskOf(turn, standing, 'working'), resultType: 'task' } as CallBecomesTask;
}

/** Fields: `Task` of the extension. */
export function taskOf(turn: TurnOfCall, { events }: TurnStanding, status: string) {
  const { timestamp: begun = Date.now() } = events[0] ?? {};
  const { timestamp: changed = begun } = events.at(-1) ?? {};
  return {
    ...{ taskId: turnIdOf(turn), status, ttlMs: null, pollIntervalMs: POLL_INTERVAL },
    ...{ createdAt: new Date(begun).toISOString(), lastUpdatedAt: new Date(changed).toISOString() },
  };
}
