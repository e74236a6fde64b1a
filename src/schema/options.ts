import type { Duration } from './duration.ts';
import { kindOf } from './kind-of.ts';
import { assertKnownFields } from './known-fields.ts';
import { OptionReader } from './option-reader.ts';

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
  /** Where the group stands in its owner; left out where it is the owner itself. */
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

/** Read as milliseconds, which the default is, too. */
export function duration<Default extends number | undefined = undefined>(
  byDefault?: Default,
): Field<Duration, number | Default> {
  return (read, name) => read.duration(name, byDefault as Default);
}

export function count<Default extends number | undefined = undefined>(
  byDefault?: Default,
): Field<number, number | Default> {
  return (read, name) => read.count(name, byDefault as Default);
}

export function number<Default extends number | undefined = undefined>(
  least: number,
  byDefault?: Default,
): Field<number, number | Default> {
  return (read, name) => read.number(name, byDefault as Default, least);
}

export function flag<Default extends boolean | undefined = undefined>(
  byDefault?: Default,
): Field<boolean, boolean | Default> {
  return (read, name) => read.boolean(name, byDefault as Default);
}

export function text<Default extends string | undefined = undefined>(
  byDefault?: Default,
): Field<string, string | Default> {
  return (read, name) => (read.given(name) ? read.text(name) : (byDefault as Default));
}

export function choice<const Choice extends string, Default extends Choice | undefined = undefined>(
  choices: readonly Choice[],
  byDefault?: Default,
): Field<Choice, Choice | Default> {
  return (read, name) => read.choice(name, choices, byDefault as Default);
}

/** A value that stays as it is. Its type is the interface's. @param wanted for messages. */
export function own<Value, Default = undefined>(
  isFine: (value: unknown) => boolean,
  wanted: string,
  byDefault?: Default,
): Field<Value, NoInfer<Value | Default>> {
  return custom((value, read, name) => {
    return isFine(value) ? (value as Value) : read.fail(name, `expected ${wanted}, got ${kindOf(value)}`);
  }, byDefault);
}

/** @param wanted for messages: `a function of the arguments`. */
export function callback<Callback, Default = undefined>(
  wanted: string,
  byDefault?: Default,
): Field<Callback, NoInfer<Callback | Default>> {
  return own((value) => typeof value === 'function', wanted, byDefault);
}

/** A group in a group, by the function that reads it. */
export function group<Value>(
  resolve: (owner: string, field: string, options: unknown) => Value,
): Field<never, Value> {
  return (read, name) => resolve(read.owner, read.place(name), read.value(name));
}

/** A value with a check of its own. */
export function custom<Value, Default = undefined>(
  check: (value: unknown, read: OptionReader, name: string) => Value,
  byDefault?: Default,
): Field<never, Value | NoInfer<Default>> {
  return (read, name) => (read.given(name) ? check(read.value(name), read, name) : (byDefault as Default));
}

/** A value that others check. */
export function unchecked<Value>(): Field<Value, NoInfer<Value> | undefined> {
  return (read, name) => read.value(name) as Value | undefined;
}

export function required<Given, Value>(field: Field<Given, Value>): Field<Given, Exclude<Value, undefined>> {
  return (read, name) =>
    read.given(name) ? (field(read, name) as Exclude<Value, undefined>) : read.fail(name, 'required');
}

/** A further check. @param problemOf a value that is there: undefined for a right one. */
export function checked<Given, Value>(
  field: Field<Given, Value>,
  problemOf: (value: Exclude<Value, undefined>) => string | undefined,
): Field<Given, Value> {
  return (read, name) => {
    const value = field(read, name);
    const problem = value === undefined ? undefined : problemOf(value as Exclude<Value, undefined>);
    return problem === undefined ? value : read.fail(name, problem);
  };
}
