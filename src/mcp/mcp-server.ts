import type { McpServerFactory, Server, ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { HoldfastError } from '../contract/error.ts';
import { ownVersion } from '../own-files.ts';
import { messageOf } from '../protocol/message-of.ts';
import { TASKS_EXTENSION } from '../tools/mcp/mcp-task.ts';
import type { McpCaller } from './mcp-caller.ts';
import { AWAIT_TURN_TOOL, type OfferedTool } from './offered-tools.ts';
import { listedSessions, RESOURCE_TEMPLATES, readResource } from './session-resources.ts';
import { errorResult, takesTasks } from './turn-answer.ts';
import { TurnCalls } from './turn-calls.ts';
import { taskMethods } from './turn-tasks.ts';

export interface McpServing {
  tools: readonly OfferedTool[];
  /** Gets errors that callers aren't told. */
  onError: (error: unknown) => void;
}

const TASK = z.looseObject({ taskId: z.string() });
const NEEDS_TASKS = { extensions: { [TASKS_EXTENSION]: {} } };

type ServerPackage = typeof import('@modelcontextprotocol/server');

/** The package that serves MCP, which takes a moment to load. */
export async function loadMcpServer(): Promise<ServerPackage> {
  return await import('@modelcontextprotocol/server');
}

/**
 * Makes the MCP server of each connection or request: agents and tools of an app, sessions and artifacts of the caller. Spec: MCP
 * 2025-06-18 to 2026-07-28.
 */
export function mcpServerFactory(
  { Server, ProtocolError, ProtocolErrorCode, MissingRequiredClientCapabilityError }: ServerPackage,
  { tools, onError }: McpServing,
  callerOf: (authInfo: object | undefined) => McpCaller,
): McpServerFactory {
  /** The words about an error for callers. */
  const wordsOf = (error: unknown): string => {
    if (isTold(error)) return messageOf(error);
    onError(error);
    return 'the request has failed';
  };
  const answering =
    <Given, Answer>(answer: (given: Given, context: ServerContext) => Promise<Answer>) =>
    async (given: Given, context: ServerContext) => {
      try {
        return await answer(given, context);
      } catch (error) {
        // Nobody hears of it: the client has gone away, which is no failure.
        if (context.mcpReq.signal.aborted || error instanceof ProtocolError) throw error;
        const code = isTold(error) ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
        throw new ProtocolError(code, wordsOf(error));
      }
    };
  return ({ authInfo }) => {
    const caller = callerOf(authInfo);
    const server: Server = new Server(
      { name: 'holdfast', title: `Holdfast: ${caller.app}`, version: ownVersion() },
      { capabilities: { tools: {}, resources: {}, extensions: { [TASKS_EXTENSION]: {} } } },
    );
    const calls = new TurnCalls(caller, { tools, server, wordsOf });
    server.setRequestHandler('tools/list', () => ({
      tools: [...tools.map(({ definition }) => definition), AWAIT_TURN_TOOL],
    }));
    server.setRequestHandler(
      'tools/call',
      answering(async ({ params }, context) => {
        try {
          return await calls.call(params, context);
        } catch (error) {
          // The model hears of its own mistakes; a state is the client's.
          if (isTold(error) && context.mcpReq.requestState() === undefined)
            return errorResult(messageOf(error));
          throw error;
        }
      }),
    );
    server.setRequestHandler(
      'resources/list',
      answering(async ({ params }) => listedSessions(caller, params?.cursor)),
    );
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: RESOURCE_TEMPLATES }));
    server.setRequestHandler(
      'resources/read',
      answering(async ({ params: { uri } }) => readResource(caller, uri)),
    );
    for (const [method, answer] of Object.entries(taskMethods(calls, caller))) {
      const handle = answering(answer);
      server.setRequestHandler(method, { params: TASK }, async ({ taskId }, context) => {
        if (!takesTasks(server))
          throw new MissingRequiredClientCapabilityError({ requiredCapabilities: NEEDS_TASKS });
        return await handle(taskId, context);
      });
    }
    return server;
  };
}

/** Errors whose words are for callers. */
function isTold(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && (error.status ?? 500) < 500;
}
