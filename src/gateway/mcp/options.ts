import type { BaseAgent } from '../../agents/base-agent.ts';

/** The MCP server of a gateway, at `/mcp`. */
export interface McpServerOptions {
  /**
   * Agents that are offered as tools. A `ToolAgent` is offered as its tools. Workers of the app serve them.
   *
   * @example [support, new ToolAgent({ name: 'desk', tools: [findOrder] })]
   */
  agents: readonly BaseAgent[];
  /**
   * The app whose sessions the calls belong to.
   *
   * @default the app that the gateway's process serves
   */
  app?: string;
}
