import { createRequire } from 'node:module';
import type { McpServerFactory, Server } from '@modelcontextprotocol/server';
import { HoldfastError } from '../contract/error.ts';
import { ownVersion } from '../own-version.ts';
import { messageOf } from '../protocol/message-of.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { McpCaller } from './mcp-caller.ts';
import { AWAIT_TURN_TOOL, type OfferedTool } from './offered-tools.ts';
import { listedSessions, NoSuchResource, RESOURCE_TEMPLATES, readResource } from './session-resources.ts';
import { errorResult } from './turn-answer.ts';
import { TurnCalls } from './turn-calls.ts';
import { TASKS_EXTENSION } from './turn-task.ts';
import { serveTasks } from './turn-tasks.ts';

export interface McpServing {
  tools: readonly OfferedTool[];
  /** Gets what callers aren't told. */
  onError: (error: unknown) => void;
}

type ServerPackage = typeof import('@modelcontextprotocol/server');

/** @throws DefinitionError where the package that serves MCP isn't installed, naming the command that installs it. */
export function assertMcpServerInstalled(owner: string): void {
  try {
    createRequire(import.meta.url).resolve('@modelcontextprotocol/server');
  } catch (cause) {
    const problem = 'a server of MCP needs a package: npm install @modelcontextprotocol/server';
    throw new DefinitionError({ owner, problem }, { cause });
  }
}

/** The package that serves MCP, which takes a moment to load. */
export async function mcpServerPackage(): Promise<ServerPackage> {
  return await import('@modelcontextprotocol/server');
}

/**
 * Makes the MCP server of each connection or request: agents and tools of an app, sessions and artifacts of the caller. Spec: MCP
 * 2025-06-18 to 2026-07-28.
 */
export function mcpServerFactory(
  { Server, ProtocolError, ProtocolErrorCode }: ServerPackage,
  { tools, onError }: McpServing,
  callerOf: (authInfo: object | undefined) => McpCaller,
): McpServerFactory {
  const refuse = (text: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, text);
  const failed = (error: unknown): Error => {
    if (error instanceof NoSuchResource) return refuse(error.message);
    if (isTold(error)) return refuse(messageOf(error));
    if (error instanceof ProtocolError) return error;
    onError(error);
    return new ProtocolError(ProtocolErrorCode.InternalError, 'the request has failed');
  };
  return ({ authInfo }) => {
    const caller = callerOf(authInfo);
    const server: Server = new Server(
      { name: 'holdfast', title: `Holdfast: ${caller.app}`, version: ownVersion() },
      { capabilities: { tools: {}, resources: {}, extensions: { [TASKS_EXTENSION]: {} } } },
    );
    const calls = new TurnCalls(caller, tools, server);
    server.setRequestHandler('tools/list', () => ({
      tools: [...tools.map(({ definition }) => definition), AWAIT_TURN_TOOL],
    }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      try {
        return await calls.call(params, context);
      } catch (error) {
        if (isTold(error)) return errorResult(messageOf(error));
        throw failed(error);
      }
    });
    server.setRequestHandler('resources/list', async ({ params }) => {
      try {
        return await listedSessions(caller, params?.cursor);
      } catch (error) {
        throw failed(error);
      }
    });
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: RESOURCE_TEMPLATES }));
    server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
      try {
        return await readResource(caller, uri);
      } catch (error) {
        throw failed(error);
      }
    });
    serveTasks(server, calls, caller, refuse);
    return server;
  };
}

/** Errors whose words are for callers. */
function isTold(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && (error.status ?? 500) < 500;
}
