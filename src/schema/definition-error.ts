import { codedError } from '../contract/error.ts';
import { excerpt, visibleText } from '../protocol/visible-text.ts';

const LONGEST_SHOWN = 60;

/** A wrong field of a definition, and its problem. */
export interface DefinitionProblem {
  /** The definition, with its name where it has a good one: `LlmAgent "support"`. */
  owner: string;
  /** Path of the field, `tools[2]`; left out where the definition as a whole is wrong. */
  field?: string;
  /** The problem and its remedy, without the offending value. */
  problem: string;
  /** The offending value, which the message repeats if it is short: nothing that may be a secret. */
  value?: unknown;
}

/**
 * An agent or a tool is defined wrongly. Thrown when it is made, before anything runs.
 *
 * @example
 * LlmAgent "support": tools[2]: expected a tool, got function
 */
export class DefinitionError extends codedError('HOLDFAST_DEFINITION') {
  readonly owner: string;
  readonly field: string | undefined;
  readonly problem: string;

  constructor({ owner, field, problem, value }: DefinitionProblem, options?: ErrorOptions) {
    const told = toldOf(problem, value);
    super([owner, field, told].filter((part) => part !== undefined && part !== '').join(': '), options);
    this.owner = owner;
    this.field = field;
    this.problem = problem;
  }
}

function toldOf(problem: string, value: unknown): string {
  if (!['string', 'number', 'boolean'].includes(typeof value)) return problem;
  const seen = typeof value === 'string' ? JSON.stringify(excerpt(value, LONGEST_SHOWN)) : String(value);
  const got = `, got ${typeof value}`;
  return visibleText(
    problem.endsWith(got) ? `${problem} ${seen}` : `${problem.replace(/\.$/, '')}, got ${seen}`,
  );
}
