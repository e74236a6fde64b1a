import { codedError } from '../contract/error.ts';
/** A wrong field of a definition, and its problem. */
export interface DefinitionProblem {
  /** The definition, with its name where it has a good one: `LlmAgent "support"`. */
  owner: string;
  /** Path of the field, `tools[2]`; left out where the definition as a whole is wrong. */
  field?: string;
  /** The problem and its remedy, without the offending value. */
  problem: string;
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

  constructor({ owner, field, problem }: DefinitionProblem, options?: ErrorOptions) {
    super([owner, field, problem].filter((part) => part !== undefined && part !== '').join(': '), options);
    this.owner = owner;
    this.field = field;
    this.problem = problem;
  }
}
