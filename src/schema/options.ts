import { DefinitionError } from './definition-error.ts';
import { assertKnownFields } from './known-fields.ts';

/** The options of one definition by their names, and the {@link DefinitionError} for a wrong one. */
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
}

/** One option: reads a definer's value (`Given`) as the value that the code uses (`Read`). */
export interface Field<Given, Read> {
  (read: OptionReader, name: string): Read;
  /** For types only. */
  readonly given?: Given;
}

/** A group of options, by name. Its interface, which has their JSDoc, stands beside it. */
export type Options = Readonly<Record<string, Field<unknown, unknown>>>;

/** One option for each member of an interface: a forgotten or unknown one does not compile. */
export type OptionsFor<Given> = {
  readonly [Name in keyof Given]-?: Field<NonNullable<Given[Name]>, unknown>;
};

type Read<Group> = {
  readonly [Name in keyof Group]: Group[Name] extends Field<unknown, infer Value> ? Value : never;
};

type Absent<Group> = {
  [Name in keyof Group]: undefined extends Read<Group>[Name] ? Name : never;
}[keyof Group];

/** The values that the code gets: defaults are filled in, and an option without a default may be absent. */
export type Resolved<Group> = Read<Omit<Group, Absent<Group>>> & Partial<Read<Pick<Group, Absent<Group>>>>;

/** Reads a group out of an object that may have other fields. @throws DefinitionError naming the option. */
export function readFrom<Group extends Options>(group: Group, read: OptionReader): Resolved<Group> {
  const fields = Object.entries(group).map(([name, field]) => [name, field(read, name)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Resolved<Group>;
}

interface Place {
  owner: string;
  options: unknown;
  /** Place of the group in its owner; left out if the group is the owner itself. */
  field?: string;
}

/**
 * Reads an object that is a group: any other field is refused.
 *
 * @param rules checks between options, and defaults that depend on others.
 * @throws DefinitionError naming the option.
 */
export function readGroup<Group extends Options, Value = Resolved<Group>>(
  group: Group,
  { owner, options, field = '' }: Place,
  rules = (options: Resolved<Group>, _read: OptionReader) => options as Value,
): Readonly<Value> {
  assertKnownFields(owner, options, Object.keys(group), { field });
  const read = new OptionReader(owner, options, field);
  return Object.freeze(rules(readFrom(group, read), read));
}

export function namesOf<Group extends object>(group: Group): (keyof Group & string)[] {
  return Object.keys(group) as (keyof Group & string)[];
}
