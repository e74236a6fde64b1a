import type { BaseTool } from './base-tool.ts';

/**
 * The tools of a turn as `request.tools` lets callbacks, plugins and processors edit them. An edit counts for this request
 * and for all later ones of the invocation, on any worker; the agent's own tools never change.
 *
 * @example
 * beforeModelCallback: ({ request }) => {
 *   request.tools?.add('orderQuery', { orderId: '42' });
 *   return undefined;
 * }
 */
export interface TurnTools {
  /**
   * Adds what a factory of the app (`durable.toolFactories`) makes of `args`. Kept as the factory's name and the arguments, so
   * that any worker makes it again.
   *
   * @param factory its name. A tool itself is refused: another worker could not make it.
   * @param args JSON; defaults to `{}`.
   * @throws DefinitionError for a tool or a function in place of a name, an unknown factory, arguments that are no JSON, and a
   * name that is taken, unless the tool says `onCollision`.
   */
  add(factory: string, args?: Record<string, unknown>): BaseTool;
  /**
   * Takes a tool out of the turn, one that the provider runs by itself too; what a tool has done to this request beside that
   * stays. False where there is none of this name.
   */
  remove(name: string): boolean;
  get(name: string): BaseTool | undefined;
  has(name: string): boolean;
  /** In the order in which the model is told of them, those that it doesn't call last. */
  list(): BaseTool[];
}

/** Makes a tool for a turn; must make the same one of the same arguments on every worker. */
export type ToolFactory = (args: Record<string, unknown>) => BaseTool;

/** An edit of a turn's tools, as the invocation's ledger keeps it. */
export type ToolEdit = { add: string; args: Record<string, unknown> } | { remove: string };
