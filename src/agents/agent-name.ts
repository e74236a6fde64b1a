import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';

/** As in `@google/adk` 2.0.0, which takes hyphens too. */
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$_-]*$/u;

/** Names stand in workflow summaries and search attributes. */
const LONGEST = 128;

/** @throws DefinitionError */
export function assertAgentName(owner: string, name: unknown): asserts name is string {
  const problem = problemOf(name);
  if (problem !== undefined) throw new DefinitionError({ owner, field: 'name', problem });
}

function problemOf(name: unknown): string | undefined {
  if (name === undefined) return 'required';
  if (typeof name !== 'string') return `expected a string, got ${kindOf(name)}`;
  if (!IDENTIFIER.test(name)) {
    return (
      'Agent name must be a valid identifier. It should start with a letter or an underscore (_), and can only ' +
      'contain letters, digits (0-9), underscores, and hyphens.'
    );
  }
  if (name.length > LONGEST) return `must have at most ${LONGEST} characters, has ${name.length}`;
  if (name === 'user') return `Agent name cannot be 'user'. 'user' is reserved for end-user's input.`;
  return undefined;
}
