import { appendTools, removeTools } from '../models/llm-request.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { isRecord } from '../protocol/json.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import { didYouMean } from '../schema/known-fields.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import {
  agentOfTool,
  type BaseTool,
  isBaseTool,
  type LlmRequest,
  type ToolFactory,
  type TurnTools,
} from './base-tool.ts';
import { passiveTools, removePassive } from './passive-tools.ts';

/** They go with each activity of the agent. */
const MOST_BYTES_OF_AGENT = 1024;

/** The request that a {@link TurnRegistry} edits, and the factories of its edits. */
export interface TurnRegistryInit {
  request: Pick<LlmRequest, 'toolsDict' | 'config'>;
  /** Tool factories of the app. */
  factories: ReadonlyMap<string, ToolFactory>;
}

interface NamedEdit {
  edit: ToolEdit;
  /** Name of the tool that it adds or removes. */
  name: string;
}

/**
 * The tools of one request, edited in place. Holds no tools itself: what counts is the request.
 *
 * @example
 * const tools = new TurnRegistry({ request, factories });
 * tools.replay(editsOfEarlierSteps);
 * tools.add('orderQuery', { orderId: '42' });
 * tools.edits; // those of earlier steps and this one
 */
export class TurnRegistry implements TurnTools {
  readonly #request: LlmRequest;
  readonly #factories: ReadonlyMap<string, ToolFactory>;
  readonly #added = new Map<string, { tool: BaseTool; key: string }>();
  #edits: NamedEdit[] = [];

  constructor({ request, factories }: TurnRegistryInit) {
    this.#request = request as LlmRequest;
    this.#factories = factories;
  }

  /**
   * All edits by now, replayed ones included, without those that later ones undo: replaying them on the same tools gives the
   * same tools.
   */
  get edits(): readonly ToolEdit[] {
    return this.#edits.map(({ edit }) => edit);
  }

  /**
   * Makes the edits of earlier requests again.
   *
   * @throws DefinitionError where this deployment lacks the factory, or the agent has a tool of the name by now.
   */
  replay(edits: readonly ToolEdit[]): void {
    for (const edit of edits) {
      if ('add' in edit) this.add(edit.add, edit.args);
      else this.#remove(edit.remove);
    }
  }

  add(factory: string, args: Record<string, unknown> = {}): BaseTool {
    const json = jsonArguments(factory, args);
    const key = canonicalJson([factory, json]);
    const tool = makeTurnTool(this.#factories, factory, json);
    const { name } = tool;
    const present = this.get(name);
    if (present !== undefined) {
      const added = this.#added.get(name);
      // Callbacks add before each request, those after the first find their own tool.
      if (added?.tool === present && added.key === key) return present;
      if (tool.onCollision === 'keep') return present;
      if (tool.onCollision !== 'replace') throw clash(factory, name);
      removeTools(this.#request, [name]);
      removePassive(this.#request, name);
      this.#forget(name);
    }
    assertCallable(factory, tool);
    assertFindable(factory, tool, json);
    appendTools(this.#request, [tool]);
    this.#added.set(name, { tool, key });
    this.#edits.push({ edit: { add: factory, args: json }, name });
    return tool;
  }

  remove(name: string): boolean {
    return this.has(name) && this.#remove(name);
  }

  get(name: string): BaseTool | undefined {
    const { toolsDict } = this.#request;
    return Object.hasOwn(toolsDict, name) ? toolsDict[name] : passiveTools(this.#request).get(name)?.tool;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  list(): BaseTool[] {
    const passive = [...passiveTools(this.#request).values()].map(({ tool }) => tool);
    return [...Object.values(this.#request.toolsDict), ...passive];
  }

  #remove(name: string): boolean {
    const had = this.has(name);
    removeTools(this.#request, [name]);
    removePassive(this.#request, name);
    this.#forget(name);
    this.#edits.push({ edit: { remove: name }, name });
    return had;
  }

  /** The next edit decides alone, so that edits don't pile up over the steps of a long turn. */
  #forget(name: string): void {
    this.#added.delete(name);
    this.#edits = this.#edits.filter((edit) => edit.name !== name);
  }
}

const madeBy = new WeakMap<BaseTool, MadeTool>();

/** The factory and the arguments of a tool that was added to a turn. */
export interface MadeTool {
  factory: string;
  args: Record<string, unknown>;
}

/** Undefined for a tool that no factory has made. */
export function howItWasMade(tool: BaseTool): MadeTool | undefined {
  return madeBy.get(tool);
}

/**
 * The tool that an edit stands for.
 *
 * @throws DefinitionError for a factory that there isn't, that throws, or that makes no tool.
 */
export function makeTurnTool(
  factories: ReadonlyMap<string, ToolFactory>,
  factory: string,
  args: Record<string, unknown>,
): BaseTool {
  const make = factories.get(factory);
  if (make === undefined) throw unknownFactory(factory, [...factories.keys()]);
  let tool: unknown;
  try {
    // Its own copy: a factory that edits it would make another tool of the recorded ones.
    tool = make(structuredClone(args));
  } catch (cause) {
    throw new DefinitionError(
      { owner: factoryOwner(factory), problem: `it threw: ${thrownMessage(cause)}` },
      { cause },
    );
  }
  if (isBaseTool(tool)) {
    madeBy.set(tool, { factory, args });
    return tool;
  }
  const got = tool instanceof Promise ? 'a promise; make the tool without waiting' : kindOf(tool);
  throw new DefinitionError({
    owner: factoryOwner(factory),
    problem: `it must return a tool, returned ${got}`,
  });
}

function jsonArguments(factory: unknown, args: unknown): Record<string, unknown> {
  assertFactoryName(factory);
  const owner = `request.tools.add(${JSON.stringify(factory)})`;
  if (!isRecord(args)) {
    throw new DefinitionError({ owner, field: 'args', problem: `expected an object, got ${kindOf(args)}` });
  }
  try {
    const json = toJsonValue(args);
    if (isRecord(json)) return json;
    throw new DefinitionError({ owner, field: 'args', problem: `expected an object, got ${kindOf(json)}` });
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    const field = error.path === '' ? 'args' : `args.${error.path}`;
    throw new DefinitionError({ owner, field, problem: error.problem }, { cause: error });
  }
}

const HINT =
  'another worker could not make it again; register a factory on the app ' +
  '(durable.toolFactories: { name: (args) => tool }) and add its name with JSON arguments';

function assertFactoryName(factory: unknown): asserts factory is string {
  if (typeof factory === 'string') return;
  const what = isBaseTool(factory)
    ? 'a tool'
    : typeof factory === 'function'
      ? 'a function'
      : kindOf(factory);
  throw new DefinitionError({
    owner: 'request.tools.add',
    field: 'factory',
    problem: `expected the name of a tool factory, got ${what}: ${HINT}`,
  });
}

function unknownFactory(factory: string, known: readonly string[]): DefinitionError {
  const registered = known.length === 0 ? 'none is registered' : `registered are ${known.join(', ')}`;
  return new DefinitionError({
    owner: factoryOwner(factory),
    problem: `the app has no tool factory of this name; ${registered}${didYouMean(factory, known)}`,
  });
}

function clash(factory: string, name: string): DefinitionError {
  return new DefinitionError({
    owner: factoryOwner(factory),
    problem:
      `the request has a tool "${name}" already; remove that one, or let the factory's tool say ` +
      "onCollision: 'replace' or 'keep'",
  });
}

function assertCallable(factory: string, tool: BaseTool): void {
  if (tool._getDeclaration() !== undefined) return;
  throw new DefinitionError({
    owner: factoryOwner(factory),
    problem: `the tool "${tool.name}" has no declaration, so the model could not call it`,
  });
}

/** Children are told what their agent's tool is made of. */
function assertFindable(factory: string, tool: BaseTool, args: Record<string, unknown>): void {
  if (agentOfTool(tool) === undefined) return;
  const bytes = Buffer.byteLength(JSON.stringify(args));
  if (bytes <= MOST_BYTES_OF_AGENT) return;
  throw new DefinitionError({
    owner: factoryOwner(factory),
    problem: `the tool "${tool.name}" runs an agent: its arguments may have ${MOST_BYTES_OF_AGENT} bytes, these have ${bytes}`,
  });
}

function factoryOwner(factory: string): string {
  return `tool factory ${JSON.stringify(factory)}`;
}
