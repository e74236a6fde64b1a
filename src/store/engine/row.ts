import type { ColumnType } from 'kysely';

/** PostgreSQL's bigint arrives as text; every one here is below 2^53. */
export type BigInteger = ColumnType<string, number | undefined, number>;

type Type = 'text' | 'json' | 'int4' | 'int8' | 'bool';

/** A column: its type in the table, and the field that its values become. */
export interface Column<Value, Field, Of extends Type = Type> {
  readonly type: Of;
  /** `polls.notYet`: a field of the object `polls`. Undefined: the column's name in camel case. */
  readonly field: Field;
  readonly isNullable: boolean;
  /** For types only. */
  readonly value?: Value;
}

/** Columns of a table by their names, in the order of their fields. */
type Row = Readonly<Record<string, Column<unknown, string | undefined>>>;

type Columns<R, Big> = {
  [Name in keyof R]: R[Name] extends Column<infer Value, unknown, infer Of>
    ? Of extends 'int8'
      ? Big | Extract<Value, null>
      : Value
    : never;
};
/** As typed queries name them, for `Tables`. */
export type ColumnsOf<R> = Columns<R, BigInteger>;
/** A row as a query or as JSON gives it: only the latter has numbers for bigint. */
export type StoredRow<R> = Columns<R, number | string>;

type CamelCase<Name> = Name extends `${infer Start}_${infer Rest}`
  ? `${Start}${Capitalize<CamelCase<Rest>>}`
  : Name;
type PathOf<C, Name> =
  C extends Column<unknown, infer Field> ? (Field extends string ? Field : CamelCase<Name>) : never;
type ValueOf<C> = C extends Column<infer Value, unknown> ? Value : never;
type Values<R> = { [Name in keyof R as PathOf<R[Name], Name>]: ValueOf<R[Name]> };

type OrAbsent<Value> = null extends Value ? NonNullable<Value> | undefined : Value;
type Part<V> =
  Record<keyof V, null> extends V
    ? { [Field in keyof V]: NonNullable<V[Field]> } | undefined
    : { [Field in keyof V]: OrAbsent<V[Field]> };
type PartAt<Name extends string, V> = Part<{
  [Path in keyof V as Path extends `${Name}.${infer Field}` ? Field : never]: V[Path];
}>;
type OuterOf<Path> = Path extends `${infer Name}.${string}` ? Name : Path;
type ObjectOf<V> = {
  [Path in keyof V as OuterOf<Path>]: Path extends `${infer Name}.${string}`
    ? PartAt<Name, V>
    : OrAbsent<V[Path]>;
};

export const text = kind<string, 'text'>('text');
export const json = kind<unknown, 'json'>('json');
export const integer = kind<number, 'int4'>('int4');
export const bigint = kind<number, 'int8'>('int8');
export const boolean = kind<boolean, 'bool'>('bool');

function kind<Usual, Of extends Type>(type: Of) {
  return <Value extends Usual = Usual, const Field extends string | undefined = undefined>(field?: Field) =>
    ({ type, field, isNullable: false }) as Column<Value, Field, Of>;
}

export function orNull<Value, Field, Of extends Type>(
  column: Column<Value, Field, Of>,
): Column<Value | null, Field, Of> {
  return { ...column, isNullable: true };
}

/**
 * A function that makes an object of a row. Null makes no field; an object whose columns may all be null is there where none is.
 *
 * @example
 * const readJob = rowReader({ job_id: text(), not_yet: integer('polls.notYet'), heard_at: orNull(bigint()) });
 */
export function rowReader<R extends Row>(columns: R): (stored: StoredRow<R>) => ObjectOf<Values<R>> {
  const members = Object.entries(columns).map(([name, { field = camelCase(name), ...column }]) => {
    const [outer = '', inner] = field.split('.');
    return { ...column, name, outer, inner };
  });
  const fields = members.map((member) => {
    const part = members.filter(({ outer }) => outer === member.outer);
    const needed = part.every(({ isNullable }) => isNullable) ? part : [member];
    return { ...member, needs: needed.map(({ name }) => name) };
  });
  return (stored: Readonly<Record<string, unknown>>) => {
    const object: Record<string, unknown> = {};
    for (const { name, type, outer, inner, needs } of fields) {
      if (needs.some((each) => stored[each] === null || stored[each] === undefined)) continue;
      const value = type === 'int8' ? Number(stored[name]) : stored[name];
      object[outer] = inner === undefined ? value : Object.assign(object[outer] ?? {}, { [inner]: value });
    }
    return object as ObjectOf<Values<R>>;
  };
}

/** The columns of `table` but for those `left` out, for a query to select. */
export function columnsOf<R extends Row, Table extends string, Left extends keyof R & string>(
  columns: R,
  table: Table,
  left: readonly Left[],
) {
  type Name = Exclude<keyof R & string, Left>;
  const names = Object.keys(columns).filter((name): name is Name => !left.some((each) => each === name));
  return names.map((name): `${Table}.${Name}` => `${table}.${name}`);
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
