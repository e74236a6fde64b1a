import { redactSecrets } from '../../models/provider-error.ts';
import { defined } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { thrownField } from '../../schema/thrown-message.ts';
import { ToolError } from '../tool-error.ts';
import { type MCPConnectionParams, shownServer, timeoutOf } from './connection-params.ts';
import { secretsOf } from './mcp-secrets.ts';

/** Characters of an error, and of a program's standard error. */
const LONGEST_REASON = 2_000;
const MOST_SAID = 1_000;
/** Characters that are searched for secrets. */
const MOST_SEARCHED = 65_536;

/** A server can't be reached, or the connection to it broke. */
export class McpUnavailable extends ToolError {
  override readonly name = 'McpUnavailable';
  /** The server may have done what it was asked: the tool's `onUnknownOutcome` decides. */
  readonly maybeDone: boolean;

  constructor(message: string, { maybeDone }: { maybeDone: boolean }) {
    super(message, { code: maybeDone ? 'HOLDFAST_UNKNOWN_OUTCOME' : 'HOLDFAST_MCP_UNAVAILABLE' });
    this.maybeDone = maybeDone;
  }
}

/** A server's words about the tokens that it wants (RFC 6750, 9728). All of it comes from outside. */
export interface McpChallenge {
  /** 401: others. 403: for more scopes. */
  status: 401 | 403;
  scopes: readonly string[];
  /** Address of its protected-resource metadata. */
  metadata?: string;
}

/** A server has refused a request, or answered with something that can't be used. */
export class McpRefused extends ToolError {
  override readonly name = 'McpRefused';
  /** The request came without the tokens that the server wants. */
  readonly challenge: McpChallenge | undefined;

  constructor(message: string, { challenge, ...options }: ErrorOptions & { challenge?: McpChallenge } = {}) {
    super(message, { code: 'HOLDFAST_MCP_REFUSED', retryable: false, ...options });
    this.challenge = challenge;
  }
}

export function challengeOf(error: unknown): McpChallenge | undefined {
  return error instanceof McpRefused ? error.challenge : undefined;
}

/** Answers below 500 of a server, or a proxy, that takes the same request later: timeout, too early, too many. */
export const PASSING: ReadonlySet<number | undefined> = new Set([408, 425, 429]);

/**
 * The error of a request.
 *
 * @param how `isSent`: the request may have an effect that a second one would repeat. `headers` that it had are secrets. `said`: by the
 * server's program on its standard error. `hasSession`: the request was one of a session.
 */
export function serverFailed(
  params: MCPConnectionParams,
  error: unknown,
  {
    isSent,
    headers = {},
    said = '',
    hasSession = false,
  }: {
    isSent: boolean;
    headers?: Readonly<Record<string, string>>;
    said?: string;
    hasSession?: boolean;
  },
): McpUnavailable | McpRefused {
  if (error instanceof McpUnavailable || error instanceof McpRefused) return error;
  const server = `the MCP server ${shownServer(params)}`;
  const status = statusOf(error);
  const why = reasonOf(error, { said, secrets: secretsOf(params, headers) });
  // Without a cause: a provider's own error object may hold headers.
  if (status === 401 || status === 403) {
    return new McpRefused(
      `${server} refused the credential (${status}): ${why}. Check auth, headers or authConfig of the toolset`,
      defined({ challenge: thrownField(error, 'challenge') as McpChallenge | undefined }),
    );
  }
  if (isProtocolError(error)) return new McpRefused(`${server} refused the request: ${why}`);
  if (status !== undefined && status < 500 && status !== 404 && !PASSING.has(status)) {
    return new McpRefused(`${server} refused the request (${status}): ${why}`);
  }
  const maybeDone = isSent && !isUnsent(error, { status, hasSession });
  const after = maybeDone ? '; the call may have run' : '';
  const answered = status === undefined ? '' : ` (${status})`;
  return new McpUnavailable(`${server} can't be reached${answered}: ${why}${after}`, { maybeDone });
}

/** Codes of JSON-RPC with which a server says that it has no such task, or no tasks. */
const NO_TASK: readonly unknown[] = [-32_601, -32_602, -32_002];

/** The error of a request about a task, which may be sent again. */
export function taskFailed(
  params: MCPConnectionParams,
  error: unknown,
  { headers, hasSession }: { headers: Readonly<Record<string, string>>; hasSession: boolean },
): McpUnavailable | McpRefused {
  const failed = serverFailed(params, error, { isSent: false, headers });
  const code = thrownField(error, 'code');
  // A server answers 404 for a session that is gone; for anybody else it is a proxy's.
  if (NO_TASK.includes(code) || (hasSession && statusOf(error) === 404))
    return new McpRefused(`the task is lost: ${failed.message}`);
  // A server may recover from any other trouble, and the task goes on.
  if (typeof code === 'number') return new McpUnavailable(failed.message, { maybeDone: false });
  return failed;
}

/** The error of a server that is silent for as long as its connection params say. */
export function unanswered(params: MCPConnectionParams): Error {
  return new Error(`no answer within ${timeoutOf(params)} ms (timeout of connectionParams)`);
}

/** Whether the connection is of no use any more. */
export function isGone(error: unknown): boolean {
  const code = thrownField(error, 'code');
  return (
    statusOf(error) === 404 ||
    code === 'CONNECTION_CLOSED' ||
    code === 'NOT_CONNECTED' ||
    code === 'SEND_FAILED' ||
    error instanceof TypeError
  );
}

/** Whether the server has refused the request before it looked at it, or has never had it. */
function isUnsent(
  error: unknown,
  { status, hasSession }: { status: number | undefined; hasSession: boolean },
): boolean {
  // A server answers 404 for a session that is gone. Else it is a proxy's, as 503 may be: after the server had the request.
  if (status === 425 || status === 429 || (status === 404 && hasSession)) return true;
  if (thrownField(error, 'code') === 'NOT_CONNECTED') return true;
  const cause = thrownField(thrownField(error, 'cause'), 'code') ?? thrownField(error, 'code');
  return cause === 'ECONNREFUSED' || cause === 'ENOTFOUND' || cause === 'EAI_AGAIN';
}

function statusOf(error: unknown): number | undefined {
  const status = thrownField(error, 'status');
  return typeof status === 'number' ? status : undefined;
}

/** In place of an answer that the server's stream has not had. No server can say so itself: its `data` are JSON. */
export const STREAM_ENDED = {
  code: -32_000,
  message: 'the stream of its answer has ended without one',
  data: Symbol('stream ended'),
};

/** An error that the server itself has answered with. Its code is a number. */
function isProtocolError(error: unknown): boolean {
  const isOurs = thrownField(error, 'data') === STREAM_ENDED.data;
  return error instanceof Error && typeof thrownField(error, 'code') === 'number' && !isOurs;
}

function reasonOf(error: unknown, { said, secrets }: { said: string; secrets: readonly string[] }): string {
  const text = causesOf(error)
    .map(messageOf)
    .reduce((told, words) => (told.endsWith(words) ? told : `${told}: ${words}`));
  // Cut afterwards: half a secret is not found.
  const clean = (part: string) => redactSecrets(part.toWellFormed(), secrets);
  const reason = clean(text.slice(0, MOST_SEARCHED)).slice(0, LONGEST_REASON);
  const whole = said === '' ? reason : `${reason}; it said: ${clean(said).slice(-MOST_SAID)}`;
  return visibleLines(whole.toWellFormed());
}

/** The error, and its causes down to that of the connection. */
function causesOf(error: unknown): unknown[] {
  const causes = [error];
  for (let cause = thrownField(error, 'cause'); cause instanceof Error && causes.length < 5; ) {
    causes.push(cause);
    cause = cause.cause;
  }
  return causes;
}
