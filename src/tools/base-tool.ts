import type { FunctionDeclaration } from '../events/content.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import type { Context } from './context.ts';
import {
  DURABLE_OPTIONS,
  type DurableOptions,
  type ResolvedDurableOptions,
  resolveDurableOptions,
} from './durable-options.ts';
import { assertToolName } from './tool-name.ts';

const BASE_TOOL = Symbol.for('holdfast.baseTool');

export interface RunAsyncToolRequest {
  args: Record<string, unknown>;
  toolContext: Context;
}

export interface BaseToolParams extends DurableOptions {
  /** Starts with a letter or an underscore; letters, digits, `_`, `.`, `:`, `-`; at most 128 characters. */
  name: string;
  /** Tells the model what the tool does. */
  description: string;
  /**
   * Whether the call goes on after the tool has returned.
   *
   * @default false
   */
  isLongRunning?: boolean;
}

const FIELDS = ['name', 'description', 'isLongRunning', ...DURABLE_OPTIONS];

/** Options of ADK's tools that come with later releases. */
export const UNSUPPORTED_TOOL_OPTIONS = ['requireConfirmation'];

/**
 * Something that a model can call. Semantics: `BaseTool` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * class Clock extends BaseTool {
 *   constructor() {
 *     super({ name: 'clock', description: 'Tells the time.' });
 *   }
 *   override _getDeclaration() {
 *     return { name: this.name, description: this.description };
 *   }
 *   override async runAsync() {
 *     return { time: new Date().toISOString() };
 *   }
 * }
 */
export abstract class BaseTool {
  readonly [BASE_TOOL] = true;
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  /** How Holdfast runs the tool: its durable options with their defaults, milliseconds. */
  readonly durable: ResolvedDurableOptions;

  constructor(params: BaseToolParams) {
    const kind = new.target.name || 'BaseTool';
    if (!isRecord(params)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(params)}` });
    }
    assertToolName(kind, params.name);
    const owner = toolOwner(kind, params.name);
    assertKnownFields(owner, params, FIELDS, { unsupported: UNSUPPORTED_TOOL_OPTIONS });
    const read = new OptionReader(owner, params);
    this.name = params.name;
    this.description = read.text('description');
    this.isLongRunning = read.boolean('isLongRunning', false);
    if (this.isLongRunning) read.fail('isLongRunning', 'long-running tools come with a later release');
    this.durable = resolveDurableOptions(params, owner);
  }

  /** How the tool is offered to the model; undefined for a tool that the model doesn't call. */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /**
   * Runs the tool.
   *
   * @param request `args` are the model's, not validated.
   */
  abstract runAsync(request: RunAsyncToolRequest): Promise<unknown>;
}

/** Whether `value` is a tool, of this or of another copy of the package. */
export function isBaseTool(value: unknown): value is BaseTool {
  return typeof value === 'object' && value !== null && BASE_TOOL in value && value[BASE_TOOL] === true;
}

/** How messages call a tool. */
export function toolOwner(kind: string, name: string): string {
  return `${kind} "${name}"`;
}
