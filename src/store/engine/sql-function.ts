import type { Database } from './database.ts';
import { jsonText } from './json-text.ts';

/** JSON that is text already: it becomes part of the arguments as it is. */
export class JsonDocument {
  readonly text: string;

  /** @param text as `jsonText` has it */
  constructor(text: string) {
    this.text = text;
  }

  /** @throws Unstorable for what has no JSON */
  static of(value: unknown): JsonDocument {
    return new JsonDocument(jsonText(value));
  }
}

/** `undefined` and `null` are SQL's null, an array may be SQL's or JSON's. */
type Argument = string | number | boolean | null | undefined | JsonDocument | readonly Argument[] | Arguments;

/** By name, as the function's `json_to_record(args)` has them. */
interface Arguments {
  readonly [name: string]: Argument;
}

/**
 * Calls a function of the schema `holdfast` whose one parameter is `args json`, and returns what it answers.
 *
 * @throws what `Database.query` throws
 */
export async function callFunction<Answer = void>(
  database: Database,
  name: string,
  args: Arguments,
): Promise<Answer> {
  const [row] = await database.query<{ answer: Answer }>(`select holdfast.${name}($1) as answer`, [
    argumentText(args),
  ]);
  return (row as { answer: Answer }).answer;
}

/** Rows for `json_to_recordset`, their columns by name. */
export function recordsText(records: readonly Arguments[]): string {
  return argumentText(records);
}

function argumentText(argument: Argument): string {
  if (argument === null || argument === undefined) return 'null';
  if (argument instanceof JsonDocument) return argument.text;
  // As the driver sends text: PostgreSQL refuses the escape of a lone surrogate.
  if (typeof argument === 'string') return JSON.stringify(argument.toWellFormed());
  if (typeof argument !== 'object') return String(argument);
  if (isList(argument)) return `[${argument.map(argumentText).join(',')}]`;
  const fields = Object.entries(argument).filter(([, value]) => value !== undefined);
  return `{${fields.map(([name, value]) => `"${name}":${argumentText(value)}`).join(',')}}`;
}

function isList(argument: Arguments | readonly Argument[]): argument is readonly Argument[] {
  return Array.isArray(argument);
}
