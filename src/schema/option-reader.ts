import { DefinitionError } from './definition-error.ts';
import { readDuration } from './duration.ts';
import { kindOf } from './kind-of.ts';
import { didYouMean } from './known-fields.ts';

/** Reads the options of one definition: a default for an absent option, a {@link DefinitionError} for a wrong one. */
export class OptionReader {
  readonly owner: string;
  readonly #options: Readonly<Record<string, unknown>>;
  readonly #prefix: string;

  /** @param field where the options stand in their owner; they may stand in the owner itself. */
  constructor(owner: string, options: object, field = '') {
    this.owner = owner;
    this.#options = options as Record<string, unknown>;
    this.#prefix = field === '' ? '' : `${field}.`;
  }

  given(name: string): boolean {
    return this.#options[name] !== undefined;
  }

  value(name: string): unknown {
    return this.#options[name];
  }

  /** Path of an option in its owner. */
  place(name: string): string {
    return `${this.#prefix}${name}`;
  }

  /** @param value to be repeated: nothing that may be a secret. */
  fail(name: string, problem: string, value?: unknown): never {
    throw new DefinitionError({ owner: this.owner, field: this.place(name), problem, value });
  }

  #wrong(name: string, problem: string): never {
    return this.fail(name, problem, this.#options[name]);
  }

  /** @returns whole milliseconds. */
  duration<Default>(name: string, byDefault: Default): number | Default {
    const value = this.#options[name];
    if (value === undefined) return byDefault;
    const read = readDuration(value);
    return 'ms' in read ? read.ms : this.#wrong(name, read.problem);
  }

  count<Default>(name: string, byDefault: Default): number | Default {
    const value = this.#options[name];
    if (value === undefined) return byDefault;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
    const got = typeof value === 'number' ? '' : `, got ${kindOf(value)}`;
    return this.#wrong(name, `expected a whole number, 1 or more${got}`);
  }

  number<Default>(name: string, byDefault: Default, least: number): number | Default {
    const value = this.#options[name];
    if (value === undefined) return byDefault;
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value;
    const got = typeof value === 'number' ? '' : `, got ${kindOf(value)}`;
    return this.#wrong(name, `expected a number, ${least} or more${got}`);
  }

  boolean<Default>(name: string, byDefault: Default): boolean | Default {
    const value = this.#options[name];
    if (value === undefined) return byDefault;
    return typeof value === 'boolean'
      ? value
      : this.#wrong(name, `expected true or false, got ${kindOf(value)}`);
  }

  choice<Choice extends string, Default = Choice>(
    name: string,
    choices: readonly Choice[],
    byDefault: Default,
  ): Choice | Default {
    const value = this.#options[name];
    if (value === undefined) return byDefault;
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
