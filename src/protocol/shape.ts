import { shapeOf } from '../contract/check.ts';
import { LONGEST_NAME, LONGEST_TIME } from '../contract/message-limits.ts';
import { isRecord } from './json.ts';

/**
 * Checks a value. Returns the first wrong field and the kind of its value, never the value itself, which may be secret. Undefined
 * where nothing is wrong.
 */
export type Shape = (value: unknown, at: string) => string | undefined;

export const text = being('a string', (value) => typeof value === 'string');

/** A part of a Temporal id, or the name of a type or a queue there. */
export const name = being(
  `a string of 1 to ${LONGEST_NAME} characters`,
  (value) => typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME,
);

export const number = being('a number', Number.isFinite);

export const anything: Shape = () => undefined;

/** How long something may take. */
export const duration = being('milliseconds, more than 0', (value) => isTime(value) && value > 0);

/** When something is due, which may have been before now. */
export const wait = being('milliseconds', isTime);

/** When a timer is due: Temporal's server takes longer ones for its longest, as far as whole numbers go. */
export const timer = being(
  'milliseconds',
  (value) => typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER,
);

export const count = being(
  'a whole number from 1',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
);

export const absent = being('nothing', (value) => value === undefined);

export const textOrObject = being(
  'a string or an object',
  (value) => typeof value === 'string' || isRecord(value),
);

export const jsonText = being('JSON', isJson);

/** One of these; true and false count as their names. */
export function oneOf(...values: readonly string[]): Shape {
  const isName = (value: unknown) => typeof value === 'string' || typeof value === 'boolean';
  return being(values.join(', '), (value) => isName(value) && values.includes(String(value)));
}

/** Fields that aren't named may be anything. */
export function object(fields: Readonly<Record<string, Shape>>): Shape {
  return (value, at) => {
    if (!isRecord(value)) return `${at}: expected an object, got ${shapeOf(value)}`;
    return firstProblem(Object.entries(fields), ([field, shape]) => shape(value[field], `${at}.${field}`));
  };
}

export function list(shape: Shape): Shape {
  return (value, at) => {
    if (!Array.isArray(value)) return `${at}: expected an array, got ${shapeOf(value)}`;
    return firstProblem([...value.entries()], ([index, each]) => shape(each, `${at}[${index}]`));
  };
}

/** An object whose fields, by any names, are all alike. */
export function record(shape: Shape): Shape {
  return (value, at) => {
    if (!isRecord(value)) return `${at}: expected an object, got ${shapeOf(value)}`;
    return firstProblem(Object.entries(value), ([field, each]) => shape(each, `${at}.${field}`));
  };
}

export function optional(shape: Shape): Shape {
  return (value, at) => (value === undefined ? undefined : shape(value, at));
}

/** An object that has one of these fields at least. */
export function withOneOf(...fields: readonly string[]): Shape {
  return (value, at) => {
    if (isRecord(value) && fields.some((field) => value[field] !== undefined)) return undefined;
    return `${at}: expected an object with ${fields.join(', ')}, got ${shapeOf(value)} without`;
  };
}

/** All of these. */
export function all(...shapes: readonly Shape[]): Shape {
  return (value, at) => firstProblem(shapes, (shape) => shape(value, at));
}

/** One of the shapes. The value of `field`, a text or a boolean, names it. */
export function either(field: string, shapes: Readonly<Record<string, Shape>>): Shape {
  const isOne = object({ [field]: oneOf(...Object.keys(shapes)) });
  return (value, at) =>
    isOne(value, at) ?? shapes[String((value as Record<string, unknown>)[field])]?.(value, at);
}

function being(what: string, holds: (value: unknown) => boolean): Shape {
  return (value, at) => (holds(value) ? undefined : `${at}: expected ${what}, got ${shapeOf(value)}`);
}

function isJson(value: unknown): boolean {
  try {
    return typeof value === 'string' && JSON.parse(value) !== undefined;
  } catch {
    return false;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= LONGEST_TIME;
}

function firstProblem<T>(ones: readonly T[], problemOf: (one: T) => string | undefined): string | undefined {
  for (const one of ones) {
    const problem = problemOf(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
