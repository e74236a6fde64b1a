import { randomUUID } from 'node:crypto';
import type {
  CallToolRequestParams,
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import { HoldfastError } from '../contract/error.ts';
import { nestingProblem } from '../contract/message-limits.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import type { Part } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { shortDigest } from '../protocol/identity.ts';
import { isRecord, parsedJson } from '../protocol/json.ts';
import { messageOf } from '../protocol/message-of.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { kindOf } from '../schema/kind-of.ts';
import { IDEMPOTENCY_KEY } from '../tools/mcp/mcp-answer.ts';
import { answerRequests, type Questions, questionsOf, type Replies } from './asked-people.ts';
import type { McpCaller } from './mcp-caller.ts';
import { AWAIT_TURN, type OfferedTool } from './offered-tools.ts';
import {
  type CallBecomesTask,
  endedResult,
  errorResult,
  openResult,
  TASK_AFTER,
  type TurnOfCall,
  takesTasks,
  taskOfCall,
  turnIdOf,
  turnOfId,
} from './turn-answer.ts';
import {
  type EndedTurn,
  type FollowTurn,
  pendingRequests,
  standingOf,
  type TurnStanding,
} from './turn-standing.ts';

/** Metadata of the event of a message: digest of the call that has sent it under a key. */
const CALL_OF_KEY = 'holdfast/mcp-call';

/** Milliseconds after which a call is answered without its turn's end: clients give up after 60 seconds by default. */
const HOLD = 45_000;
const LONGEST_MESSAGE = 120;

/** How a call has come to its turn. */
interface CameBack {
  /** When it is to be answered, by the clock of `performance`. */
  until: number;
  /** Digest of the arguments of a call with a key. */
  call?: string | undefined;
  /** The person's, where the call brings some. */
  replies?: Replies;
  /** It waits for a turn by its name. */
  isAwaited?: boolean;
}

type Answer = CallToolResult | InputRequiredResult | CallBecomesTask;

/** The turns of a caller, as calls of tools begin and find them. */
export class TurnCalls {
  readonly #caller: McpCaller;
  readonly #tools: readonly OfferedTool[];
  readonly #server: Server;
  readonly #wordsOf: (error: unknown) => string;

  /** @param offer `wordsOf`: the words about an error for callers. */
  constructor(
    caller: McpCaller,
    offer: { tools: readonly OfferedTool[]; server: Server; wordsOf: (error: unknown) => string },
  ) {
    this.#caller = caller;
    this.#tools = offer.tools;
    this.#server = offer.server;
    this.#wordsOf = offer.wordsOf;
  }

  /** Answers `tools/call`: with the turn's answer, with questions to the client's person, or with how to come back. */
  async call(params: CallToolRequestParams, context: ServerContext): Promise<Answer> {
    const { mcpReq } = context;
    const until = performance.now() + HOLD;
    const state = mcpReq.requestState();
    if (state !== undefined) {
      const { turn, handle } = await this.named(state);
      const replies = await this.answer(handle, mcpReq.inputResponses ?? {});
      return await this.#answerOf(turn, handle, context, { until, replies });
    }
    const { name, arguments: args = {}, _meta } = params;
    if (name === AWAIT_TURN) {
      const { turn, handle } = await this.named(args.turn);
      return await this.#answerOf(turn, handle, context, { until, isAwaited: true });
    }
    const tool = this.#tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) return errorResult(`there is no tool ${visibleExcerpt(name, LONGEST_MESSAGE)}`);
    const problem = problemOf(tool, args);
    if (problem !== undefined) return errorResult(problem);
    const message =
      tool.tool === undefined ? String(args.message) : JSON.stringify({ tool: tool.tool, args });
    const key = _meta?.[IDEMPOTENCY_KEY] ?? undefined;
    if (key !== undefined && (typeof key !== 'string' || key === '' || !key.isWellFormed())) {
      return errorResult(
        `_meta.${IDEMPOTENCY_KEY}: expected text of well-formed Unicode, got ${kindOf(key)}`,
      );
    }
    // One key of a user and a tool is one turn, for ever. Clients that count their calls do so for each tool.
    const id = key === undefined ? randomUUID() : shortDigest(JSON.stringify([name, key]));
    const { session } = tool.tool === undefined ? args : {};
    const sessionId = typeof session === 'string' && session !== '' ? session : `mcp-${id}`;
    const turn = { sessionId, messageId: `mcp-${id}` };
    const { api, app, userId } = this.#caller;
    const call = key === undefined ? undefined : digestOf(args);
    const handle = await api.sendMessage({
      ...{ app, userId, ...turn, rootAgent: tool.agent, message },
      ...(call === undefined ? {} : { runConfig: { customMetadata: { [CALL_OF_KEY]: call } } }),
    });
    try {
      return await this.#answerOf(turn, handle, context, { until, call });
    } catch (error) {
      mcpReq.signal.throwIfAborted();
      // Another call would begin another turn.
      const problem = `The turn has begun, and its answer can't be read: ${this.#wordsOf(error)}`;
      return errorResult(`${problem}\nCall ${AWAIT_TURN} with turn: ${turnIdOf(turn)}, not ${name} again.`);
    }
  }

  /** The caller's turn of this name. @throws HoldfastError where there is none */
  async named(id: unknown): Promise<{ turn: TurnOfCall; handle: TurnHandle }> {
    const { api, app, userId } = this.#caller;
    const turn = turnOfId(id);
    const handle = turn && (await api.turn({ app, userId, ...turn }));
    if (turn !== undefined && handle !== undefined) return { turn, handle };
    throw new HoldfastError(
      'HOLDFAST_GATEWAY_NO_SUCH_TURN',
      `there is no turn ${typeof id === 'string' ? visibleExcerpt(id, LONGEST_MESSAGE) : kindOf(id)}`,
    );
  }

  async standing(turn: TurnOfCall, handle: TurnHandle, options: FollowTurn): Promise<TurnStanding> {
    const { api, app, userId, ending } = this.#caller;
    return await standingOf(api, { app, userId, ...turn }, handle, { ending, ...options });
  }

  /** Gives answers of the client's person. */
  async answer(handle: TurnHandle, responses: Readonly<Record<string, unknown>>): Promise<Replies> {
    const { api } = this.#caller;
    const pending = await pendingRequests(api, this.#caller, handle);
    return await answerRequests(
      api,
      pending.filter((row) => this.#caller.decides(row)),
      responses,
    );
  }

  /** Questions of a turn's requests that this client's person can answer. */
  questions(requests: readonly ApprovalRow[]): Questions | undefined {
    const asked = requests.filter((row) => this.#caller.decides(row));
    return questionsOf(asked, this.#server.getClientCapabilities(), (id) => this.#caller.pageOf(id));
  }

  /** The result of a turn that has ended. */
  result(turn: TurnOfCall, { result, events }: EndedTurn): CallToolResult {
    const call = events.find(({ author }) => author === 'user');
    return endedResult(turn, { tool: this.#calledTool(call, events) }, result, events);
  }

  async #answerOf(
    turn: TurnOfCall,
    handle: TurnHandle,
    context: ServerContext,
    { until, call, replies, isAwaited = false }: CameBack,
  ): Promise<Answer> {
    const { signal } = context.mcpReq;
    const asTask = takesTasks(this.#server);
    const unanswered = (requests: readonly ApprovalRow[]) =>
      requests.filter(({ requestId }) => !replies?.to.has(requestId));
    const standing = await this.standing(turn, handle, {
      time: asTask || replies?.isAllLeft ? TASK_AFTER : Math.max(TASK_AFTER, until - performance.now()),
      signal,
      onEvent: progressOf(context),
      stopsAt: (requests) =>
        isAwaited ? this.questions(requests) !== undefined : unanswered(requests).length > 0,
    });
    const sent = standing.events.find(({ author }) => author === 'user')?.customMetadata?.[CALL_OF_KEY];
    if (call !== undefined && sent !== undefined && sent !== call) {
      return errorResult(
        `_meta.${IDEMPOTENCY_KEY}: another call had this key: give each call one of its own`,
      );
    }
    if (standing.is === 'ended') return this.result(turn, standing);
    if (asTask) return taskOfCall(turn, standing);
    const requests = standing.is === 'waiting' ? standing.requests : [];
    const inputRequests = this.questions(unanswered(requests));
    if (inputRequests !== undefined) {
      // It names the turn and gives no right: the caller's own rights count for the turn, and for each answer.
      return { resultType: 'input_required', inputRequests, requestState: turnIdOf(turn) };
    }
    return openResult(turn, requests, this.#caller, replies?.refused.map(messageOf));
  }

  /** The tool that the message has called by name; undefined where an agent has answered. */
  #calledTool(call: Event | undefined, events: readonly Event[]): string | undefined {
    const message = parsedJson(call?.content?.parts?.[0]?.text ?? '');
    if (!isRecord(message)) return undefined;
    const authors = new Set(events.map(({ author }) => author));
    return this.#tools.find(
      ({ tool, agent }) => tool !== undefined && tool === message.tool && authors.has(agent),
    )?.tool;
  }
}

/** The problem of arguments that no message can have; undefined without a problem. A tool checks its own. */
function problemOf({ tool, definition }: OfferedTool, args: Record<string, unknown>): string | undefined {
  const nesting = nestingProblem(args);
  if (nesting !== undefined) return `arguments: ${nesting}: call it again with flatter ones`;
  if (tool !== undefined) return undefined;
  const fields = Object.keys(definition.inputSchema.properties ?? {});
  const unknown = Object.keys(args).find((name) => !fields.includes(name));
  if (unknown !== undefined) {
    return `${visibleExcerpt(unknown, LONGEST_MESSAGE)}: unknown argument, expected ${fields.join(' and ')}`;
  }
  const { message, session = null } = args;
  if (typeof message !== 'string') return `message: expected text, got ${kindOf(message)}`;
  // A new conversation in its place would have forgotten everything.
  return session === null || typeof session === 'string'
    ? undefined
    : `session: expected text, got ${kindOf(session)}`;
}

/** Tells the client of each event, where it has asked for progress. */
function progressOf({ mcpReq }: ServerContext): (event: Event) => void {
  const { progressToken } = mcpReq._meta ?? {};
  let progress = 0;
  return ({ author = '', content }) => {
    if (progressToken === undefined || author === 'user') return;
    const message = visibleExcerpt(newsOf(author, content?.parts ?? []), LONGEST_MESSAGE);
    progress += 1;
    const params = { progressToken, progress, message };
    // A client that has gone away hears nothing, and the turn goes on.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

function newsOf(author: string, parts: readonly Part[]): string {
  const named = (field: 'functionCall' | 'functionResponse') =>
    parts.flatMap((part) => part[field]?.name ?? []);
  const [calls, responses] = [named('functionCall'), named('functionResponse')];
  if (calls.length > 0) return `${author} calls ${calls.join(', ')}`;
  return responses.length > 0 ? `${responses.join(', ')} answered` : `${author} answers`;
}
