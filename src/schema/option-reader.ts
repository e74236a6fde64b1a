import { DefinitionError } from './definition-error.ts';
import { readDuration } from './duration.ts';
import { kindOf } from './kind-of.ts';
import { didYouMean } from './known-fields.ts';

/** Reads the options of one definition: a default for an absent option, a {@link DefinitionError} for a wrong one. */
export class OptionReader {
  readonly #owner: string;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #prefix: string;

  /** @param field where the options stand in their owner; they may stand in the owner itself. */
  constructor(owner: string, options: object, field = '') {
    this.#owner = owner;
    this.#options = options as Record<string, unknown>;
    this.#prefix = field === '' ? '' : `${field}.`;
  }

  given(name: string): boolean {
    return this.#options[name] !== undefined;
  }

  /** @param value to be repeated: nothing that may be a secret. */
  fail(name: string, problem: string, value?: unknown): never {
    throw new DefinitionError({ owner: this.#owner, field: `${this.#prefix}${name}`, problem, value });
  }

  #wrong(name: string, problem: string): never {
    return this.fail(name, problem, this.#options[name]);
  }

  /** @returns whole milliseconds. */
  duration(name: string, defaultMs: number): number {
    const value = this.#options[name];
    if (value === undefined) return defaultMs;
    const read = readDuration(value);
    return 'ms' in read ? read.ms : this.#wrong(name, read.problem);
  }

  count(name: string, defaultCount: number): number {
    const value = this.#options[name];
    if (value === undefined) return defaultCount;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    const got = typeof value === 'number' ? '' : `, got ${kindOf(value)}`;
    return this.#wrong(name, `expected a whole number, 1 or more${got}`);
  }

  number(name: string, defaultNumber: number, least: number): number {
    const value = this.#options[name];
    if (value === undefined) return defaultNumber;
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value;
    const got = typeof value === 'number' ? '' : `, got ${kindOf(value)}`;
    return this.#wrong(name, `expected a number, ${least} or more${got}`);
  }

  boolean(name: string, defaultValue: boolean): boolean {
    const value = this.#options[name];
    if (value === undefined) return defaultValue;
    return typeof value === 'boolean'
      ? value
      : this.#wrong(name, `expected true or false, got ${kindOf(value)}`);
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[], defaultChoice: Choice): Choice {
    const value = this.#options[name];
    if (value === undefined) return defaultChoice;
    const choice = choices.find((each) => each === value);
    if (choice !== undefined) return choice;
    const wanted = `expected ${choices.map((each) => `'${each}'`).join(' or ')}`;
    if (typeof value !== 'string') return this.#wrong(name, `${wanted}, got ${kindOf(value)}`);
    const meant = didYouMean(value, choices);
    return meant === '' ? this.#wrong(name, wanted) : this.fail(name, wanted + meant);
  }

  text(name: string): string {
    const value = this.#options[name];
    if (value === undefined) return this.fail(name, 'required');
    return typeof value === 'string' ? value : this.#wrong(name, `expected a string, got ${kindOf(value)}`);
  }
}
