import { RESERVED_PREFIX } from '../protocol/names.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';

/** Gemini's rule for the names of functions. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]*$/;
const LONGEST = 128;

const RESERVED_PREFIXES: Readonly<Record<string, string>> = {
  // A tool's name is the type of its activity.
  [RESERVED_PREFIX]: 'names of Holdfast itself start like this',
  __temporal: 'names of Temporal itself start like this',
  adk_request_: 'calls by which ADK asks people start like this',
};

/** On options: the name may be a reserved one. On a tool: its reserved name. */
export const RESERVED_NAME = Symbol.for('holdfast.reservedName');

/** Options of a tool of Holdfast's own, whose name no other tool may have. */
export function withReservedName<Options extends object>(options: Options): Options {
  return { ...options, [RESERVED_NAME]: true };
}

/**
 * Refuses names that the model, Temporal or Holdfast could not take.
 *
 * @throws DefinitionError
 */
export function assertToolName(owner: string, name: unknown, options: object = {}): asserts name is string {
  if (RESERVED_NAME in options) return;
  const problem = problemOf(name);
  if (problem !== undefined) throw new DefinitionError({ owner, field: 'name', problem, value: name });
}

/** Whether the model, Temporal and Holdfast take the name. */
export function isToolName(name: string): boolean {
  return problemOf(name) === undefined;
}

/**
 * Refuses a tool whose name differs from its constructor's, for example by a field of its class.
 *
 * @throws DefinitionError
 */
export function assertNameOf(owner: string, tool: { readonly name: string; [RESERVED_NAME]?: string }): void {
  if (tool[RESERVED_NAME] !== tool.name) assertToolName(owner, tool.name);
}

function problemOf(name: unknown): string | undefined {
  if (name === undefined) return 'required';
  if (typeof name !== 'string') return `expected a string, got ${kindOf(name)}`;
  if (name === '') return 'Tool name cannot be empty.';
  if (name.length > LONGEST) return `must have at most ${LONGEST} characters, has ${name.length}`;
  if (!NAME.test(name)) {
    return 'must start with a letter or an underscore and go on with letters, digits, _ . : or -';
  }
  if (name === '__proto__') return 'JavaScript gives this name a meaning of its own';
  const prefix = Object.keys(RESERVED_PREFIXES).find((each) => name.startsWith(each));
  return prefix === undefined ? undefined : `must not start with "${prefix}": ${RESERVED_PREFIXES[prefix]}`;
}
