import { canonicalJson } from '../protocol/canonical-json.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, readGroup } from '../schema/options.ts';
import type { Context } from '../tools/context.ts';
import { BasePlugin } from './base-plugin.ts';
import type { PluginParams } from './plugin-failed.ts';

export interface RepetitionGuardPluginOptions {
  /** @default 'repetition_guard' */
  name?: string;
  /**
   * Equal calls in a row that run; the next one is answered with an error.
   *
   * @default 3
   */
  maxInARow?: number;
  /** Names of tools that may be called with the same arguments again and again: those that look whether something is done. */
  except?: readonly string[];
}

export const REPETITION_GUARD = {
  name: option.text('repetition_guard'),
  maxInARow: option.count(3),
  except: option.custom(toolNames),
} satisfies OptionsFor<RepetitionGuardPluginOptions>;

/**
 * Ends loops in which a model makes the same call over and over: once a tool was called with equal arguments several times
 * in a row in one turn, the next such call doesn't run, and the model is told so. Any other call begins a new row. It
 * looks at the calls that have their outcome, so of equal calls of one step all run.
 *
 * @throws DefinitionError from the constructor, naming the option.
 * @example new RepetitionGuardPlugin({ maxInARow: 2, except: ['job_status'] })
 */
export class RepetitionGuardPlugin extends BasePlugin {
  readonly #maxInARow: number;
  readonly #except: ReadonlySet<string>;

  constructor(options: RepetitionGuardPluginOptions = {}) {
    const { name, maxInARow, except } = readGroup(REPETITION_GUARD, { owner: new.target.name, options });
    super(name);
    this.#maxInARow = maxInARow;
    this.#except = new Set(except);
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
    toolContext,
  }: PluginParams<'beforeToolCallback'>): Promise<Record<string, unknown> | undefined> {
    if (this.#except.has(tool.name)) return undefined;
    const args = comparable(toolArgs);
    if (args === undefined) return undefined;
    const inARow = equalCallsAtTheEnd(toolContext, tool.name, args);
    if (inARow < this.#maxInARow) return undefined;
    return {
      error:
        `This call was not run: \`${tool.name}\` has already been called ${inARow} times in a row with the same ` +
        'arguments, and its results are above. Use them, call it with other arguments, or answer.',
    };
  }
}

function equalCallsAtTheEnd({ turnToolCalls }: Context, tool: string, args: string): number {
  const other = turnToolCalls.findLastIndex(
    (call) => call.name !== tool || canonicalJson(call.args) !== args,
  );
  return turnToolCalls.length - 1 - other;
}

/** Undefined for arguments that no model has sent: a callback has put something into them that JSON has no form of. */
function comparable(args: Record<string, unknown>): string | undefined {
  try {
    return canonicalJson(toJsonValue(args));
  } catch (error) {
    if (error instanceof JsonValueError) return undefined;
    throw error;
  }
}

function toolNames(except: unknown, read: OptionReader, field: string): readonly string[] {
  if (!Array.isArray(except)) {
    return read.fail(field, `expected a list of tools' names, got ${kindOf(except)}`);
  }
  const index = except.findIndex((name) => typeof name !== 'string');
  if (index < 0) return except;
  return read.fail(`${field}[${index}]`, `expected the name of a tool, got ${kindOf(except[index])}`);
}
