import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';

/** As in `@google/adk` 2.0.0. */
const APP_NAME = /^[a-zA-Z][a-zA-Z0-9_-]*$/;

/** Names stand in workflow ids, search attributes and logs. */
const LONGEST = 128;

/**
 * Whether an app may be called so. Semantics: `validateAppName` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError
 */
export function validateAppName(name: string): void {
  assertAppName('App', name);
}

export function isAppName(name: unknown): name is string {
  return problemOf(name) === undefined;
}

/** @throws DefinitionError */
export function assertAppName(owner: string, name: unknown): asserts name is string {
  const problem = problemOf(name);
  if (problem !== undefined) throw new DefinitionError({ owner, field: 'name', problem, value: name });
}

function problemOf(name: unknown): string | undefined {
  if (name === undefined) return 'required';
  if (typeof name !== 'string') return `expected a string, got ${kindOf(name)}`;
  if (!APP_NAME.test(name)) {
    return 'must start with a letter and can only consist of letters, digits, underscores, and hyphens.';
  }
  if (name.length > LONGEST) return `must have at most ${LONGEST} characters, has ${name.length}`;
  if (name === 'user') return "App name cannot be 'user'; reserved for end-user input.";
  return undefined;
}
