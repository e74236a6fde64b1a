import { randomUUID } from 'node:crypto';
import type {
  CallToolRequestParams,
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { TurnHandle } from '../client/turns/turn-handle.ts';
import type { Event } from '../events/event.ts';
import { shortDigest } from '../protocol/identity.ts';
import { defined, isRecord, parsedJson } from '../protocol/json.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { answerRequests, type Questions, questionsOf } from './asked-people.ts';
import type { McpCaller } from './mcp-caller.ts';
import { AWAIT_TURN, type OfferedTool } from './offered-tools.ts';
import { endedResult, errorResult, openResult, type TurnOfCall, turnIdOf, turnOfId } from './turn-answer.ts';
import { type EndedTurn, pendingRequests, standingOf, type TurnStanding } from './turn-standing.ts';
import { type CallBecomesTask, TASK_AFTER, takesTasks, taskOfCall } from './turn-task.ts';

/** `_meta` of a call that may be sent twice: one key is one turn of its user, for ever. */
export const IDEMPOTENCY_KEY = 'holdfast/idempotency-key';

/** Milliseconds that an answer waits for its turn: clients give up after 60 seconds by default. */
const HOLD = 45_000;
const LONGEST_KEY = 1_000;
const LONGEST_MESSAGE = 120;

type Answer = CallToolResult | InputRequiredResult | CallBecomesTask;

/** The turns of a caller, as calls of tools begin and find them. */
export class TurnCalls {
  readonly #caller: McpCaller;
  readonly #tools: readonly OfferedTool[];

  constructor(caller: McpCaller, tools: readonly OfferedTool[]) {
    this.#caller = caller;
    this.#tools = tools;
  }

  /** Answers `tools/call`: with the turn's answer, with questions to the client's person, or with how to come back. */
  async call(params: CallToolRequestParams, server: Server, context: ServerContext): Promise<Answer> {
    const { mcpReq } = context;
    const before = turnOfId(mcpReq.requestState());
    if (before !== undefined) {
      const answered = await this.answer(await this.find(before), mcpReq.inputResponses ?? {});
      return await this.#answerOf(before, server, context, answered);
    }
    const { name, arguments: args = {}, _meta } = params;
    if (name === AWAIT_TURN) {
      const turn = turnOfId(args.turn);
      if (turn === undefined) return errorResult('turn: expected the turn as an earlier answer has named it');
      return await this.#answerOf(turn, server, context);
    }
    const tool = this.#tools.find(({ definition }) => definition.name === name);
    if (tool === undefined) return errorResult(`there is no tool ${visibleExcerpt(name, LONGEST_MESSAGE)}`);
    return await this.#answerOf(await this.begin(tool, args, _meta), server, context);
  }

  /** Sends the message of a call. The same key finds the same turn. @throws what `sendMessage` throws. */
  async begin(
    { agent, tool }: OfferedTool,
    { message, session, ...args }: Record<string, unknown>,
    meta: Record<string, unknown> | undefined,
  ): Promise<TurnOfCall> {
    const key = meta?.[IDEMPOTENCY_KEY];
    const id = typeof key === 'string' && key !== '' ? shortDigest(key.slice(0, LONGEST_KEY)) : randomUUID();
    const isOpen = tool === undefined && typeof session === 'string' && session !== '';
    const turn = { sessionId: isOpen ? session : `mcp-${id}`, messageId: `mcp-${id}` };
    const { api, app, userId } = this.#caller;
    const call = { tool, args: { ...args, ...defined({ message, session }) } };
    const text = tool === undefined ? String(message ?? '') : JSON.stringify(call);
    await api.sendMessage({ app, userId, ...turn, rootAgent: agent, message: text });
    return turn;
  }

  /** Undefined where the caller has no such turn. */
  async find(turn: TurnOfCall): Promise<TurnHandle | undefined> {
    const { api, app, userId } = this.#caller;
    return await api.turn({ app, userId, ...turn });
  }

  async standing(
    turn: TurnOfCall,
    handle: TurnHandle,
    options: Parameters<typeof standingOf>[3],
  ): Promise<TurnStanding> {
    const { api, app, userId } = this.#caller;
    return await standingOf(api, { app, userId, ...turn }, handle, options);
  }

  /** Gives answers of the client's person. @returns ids of the answered requests. */
  async answer(
    handle: TurnHandle | undefined,
    responses: Readonly<Record<string, unknown>>,
  ): Promise<ReadonlySet<string>> {
    const { api, decides } = this.#caller;
    if (handle === undefined || !decides) return new Set();
    return await answerRequests(api, await pendingRequests(api, this.#caller, handle), responses);
  }

  /** Questions of a waiting turn that this client's person can answer. */
  questions(standing: TurnStanding, server: Server): Questions | undefined {
    if (standing.is !== 'waiting' || !this.#caller.decides) return undefined;
    return questionsOf(standing.requests, server.getClientCapabilities(), this.#caller.pageOf);
  }

  /** The result of a turn that has ended. */
  result(turn: TurnOfCall, { result, events }: EndedTurn): CallToolResult {
    const call = events.find(({ author }) => author === 'user');
    return endedResult(turn, { tool: this.#calledTool(call, events) }, result, events);
  }

  async #answerOf(
    turn: TurnOfCall,
    server: Server,
    context: ServerContext,
    answered?: ReadonlySet<string>,
  ): Promise<Answer> {
    const handle = await this.find(turn);
    if (handle === undefined) return errorResult(`there is no turn ${turnIdOf(turn)}`);
    const { signal } = context.mcpReq;
    const onEvent = progressOf(context);
    const asTask = takesTasks(server);
    const standing = await this.standing(turn, handle, {
      time: asTask ? TASK_AFTER : HOLD,
      signal,
      onEvent,
      ...defined({ answered }),
    });
    if (standing.is === 'ended') return this.result(turn, standing);
    const inputRequests = this.questions(standing, server);
    if (inputRequests !== undefined) {
      // It names the turn and gives no right: the caller's own rights count for the turn, and for each answer.
      return { resultType: 'input_required', inputRequests, requestState: turnIdOf(turn) };
    }
    if (asTask) return taskOfCall(turn, standing);
    const requests = standing.is === 'waiting' ? standing.requests : [];
    return openResult(turn, requests, this.#caller.pageOf);
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

/** Tells the client of each event, where it has asked for progress. */
function progressOf({ mcpReq }: ServerContext): (event: Event) => void {
  const { progressToken } = mcpReq._meta ?? {};
  let progress = 0;
  return ({ author = '', content }) => {
    if (progressToken === undefined || author === 'user') return;
    const calls = (content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.name ?? []);
    const message = visibleExcerpt(
      calls.length > 0 ? `${author} calls ${calls.join(', ')}` : `${author} has answered`,
      LONGEST_MESSAGE,
    );
    progress += 1;
    const params = { progressToken, progress, message };
    // A client that has gone away hears nothing, and the turn goes on.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
