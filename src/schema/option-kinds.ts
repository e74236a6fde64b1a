import { type Duration, readDuration } from './duration.ts';
import { kindOf } from './kind-of.ts';
import { didYouMean } from './known-fields.ts';
import type { Field, OptionReader } from './options.ts';

/** Read as milliseconds, which the default is, too. */
export function duration<Default extends number | undefined = undefined>(
  byDefault?: Default,
): Field<Duration, number | Default> {
  return custom((value, read, name) => {
    const time = readDuration(value);
    return 'ms' in time ? time.ms : read.fail(name, time.problem, value);
  }, byDefault as Default);
}

export function count<Default extends number | undefined = undefined>(
  byDefault?: Default,
): Field<number, number | Default> {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 1;
  return primitive(0, 'a whole number, 1 or more', byDefault as Default, isCount);
}

export function number<Default extends number | undefined = undefined>(
  least: number,
  byDefault?: Default,
): Field<number, number | Default> {
  const isEnough = (value: number) => Number.isFinite(value) && value >= least;
  return primitive(0, `a number, ${least} or more`, byDefault as Default, isEnough);
}

export function flag<Default extends boolean | undefined = undefined>(
  byDefault?: Default,
): Field<boolean, boolean | Default> {
  return primitive(false, 'true or false', byDefault as Default);
}

export function text<Default extends string | undefined = undefined>(
  byDefault?: Default,
): Field<string, string | Default> {
  return primitive('', 'a string', byDefault as Default);
}

/** @param example any value of the type. */
function primitive<Value extends number | boolean | string, Default>(
  example: Value,
  wanted: string,
  byDefault: Default,
  isFine: (value: Value) => boolean = () => true,
): Field<never, Value | Default> {
  return custom((value, read, name) => {
    const isOfType = typeof value === typeof example;
    if (isOfType && isFine(value as Value)) return value as Value;
    return read.fail(name, `expected ${wanted}${isOfType ? '' : `, got ${kindOf(value)}`}`, value);
  }, byDefault);
}

export function choice<const Choice extends string, Default extends Choice | undefined = undefined>(
  choices: readonly Choice[],
  byDefault?: Default,
): Field<Choice, Choice | Default> {
  return custom((value, read, name) => {
    const choice = choices.find((each) => each === value);
    if (choice !== undefined) return choice;
    const wanted = `expected ${choices.map((each) => `'${each}'`).join(' or ')}`;
    if (typeof value !== 'string') return read.fail(name, `${wanted}, got ${kindOf(value)}`, value);
    const meant = didYouMean(value, choices);
    return read.fail(name, wanted + meant, meant === '' ? value : undefined);
  }, byDefault as Default);
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
