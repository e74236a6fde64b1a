import { isRecord } from '../protocol/json.ts';

/**
 * The values of a call that nobody may read but the model and the tool: all of them, or the named arguments. `'result'` names the
 * result, and an argument of that name.
 */
export type Sensitive = boolean | readonly string[];

/** Stands in the place of each sensitive value. `holdfast.shown_args` of the store's SQL writes the same into the audit. */
export const MASK = '(sensitive)';

/** Characters. Shorter values stand in any text by chance. */
const SHORTEST_SECRET = 3;

export function isAnySensitive(sensitive: Sensitive): boolean {
  return typeof sensitive === 'boolean' ? sensitive : sensitive.length > 0;
}

/** Whether the argument of this name is sensitive, with all that is nested in it. */
export function isSensitive(sensitive: Sensitive, name: string): boolean {
  return typeof sensitive === 'boolean' ? sensitive : sensitive.includes(name);
}

/**
 * Whether the result is sensitive, or an answer to a question of the tool.
 *
 * @param mayQuote its text may quote arguments, as an error's does.
 */
export function isResultSensitive(sensitive: Sensitive, mayQuote = false): boolean {
  return isSensitive(sensitive, 'result') || (mayQuote && isAnySensitive(sensitive));
}

/** Whether a history may have none of the arguments. A list hides all: the model may misspell the name of the secret one. */
export function areArgumentsSensitive(
  sensitive: Sensitive,
  args: Readonly<Record<string, unknown>>,
): boolean {
  if (typeof sensitive === 'boolean') return sensitive;
  return sensitive.some((name) => name !== 'result' || Object.hasOwn(args, 'result'));
}

/** Names of a tool's arguments; undefined if its schema takes other names, too. */
export function argumentNames({
  properties,
  ...schema
}: Readonly<Record<string, unknown>>): string[] | undefined {
  const { anyOf, oneOf, allOf, additionalProperties } = schema;
  const takesOthers = [anyOf, oneOf, allOf, additionalProperties || undefined].some(
    (keyword) => keyword !== undefined,
  );
  return takesOthers ? undefined : Object.keys(isRecord(properties) ? properties : {});
}

/**
 * The sensitive values of one call. If the list names an argument, arguments that the tool doesn't have are sensitive, too: the model
 * may misspell a name.
 *
 * @param known as {@link argumentNames} says.
 */
export function sensitiveOfCall(
  sensitive: Sensitive,
  known: readonly string[] | undefined,
  args: Readonly<Record<string, unknown>>,
): Sensitive {
  if (typeof sensitive === 'boolean' || known === undefined) return sensitive;
  const namesArguments = sensitive.some((name) => name !== 'result' || known.includes(name));
  if (!namesArguments) return sensitive;
  return [...new Set([...sensitive, ...Object.keys(args).filter((name) => !known.includes(name))])];
}

/** The arguments with {@link MASK} in the place of each sensitive one. */
export function maskedArguments(
  args: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, isSensitive(sensitive, name) ? MASK : value]),
  );
}

/** As {@link maskedArguments}, and {@link MASK} alone if all are sensitive: for logs and digests, which need no names. */
export function shownArguments(
  args: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
): Record<string, unknown> | typeof MASK {
  return sensitive === true ? MASK : maskedArguments(args, sensitive);
}

/** A text without the values of named arguments that are sensitive. */
export function textWithoutSecrets(
  text: string,
  args: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
): string {
  return replacedIn(text, secretsIn(args, sensitive));
}

/** A value without the values of named arguments that are sensitive. */
export function valueWithoutSecrets(
  value: unknown,
  args: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
): unknown {
  return without(value, secretsIn(args, sensitive));
}

/** The longest first: a shorter one may be part of it. */
function secretsIn(args: Readonly<Record<string, unknown>>, sensitive: Sensitive): readonly string[] {
  if (typeof sensitive === 'boolean') return [];
  return Object.entries(args)
    .flatMap(([name, value]) => (isSensitive(sensitive, name) ? leavesOf(value) : []))
    .filter((value) => value.length >= SHORTEST_SECRET)
    .toSorted((one, other) => other.length - one.length);
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  return value === undefined || value === null || typeof value === 'boolean' ? [] : [String(value)];
}

function without(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return replacedIn(value, secrets);
  if (typeof value === 'number') return secrets.includes(String(value)) ? MASK : value;
  if (Array.isArray(value)) return value.map((each) => without(each, secrets));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, without(each, secrets)]));
}

function replacedIn(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, MASK), text);
}
