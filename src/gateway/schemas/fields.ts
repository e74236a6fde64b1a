import { z } from '@hono/zod-openapi';
import { expected, unknownFields } from '../request-problems.ts';

/** A number of a query, without sign, point or exponent. */
export function wholeNumber(description: string, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
  const error = expected(`a whole number ${range}`);
  return z
    .string({ error })
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error })
    .openapi({ type: 'integer', minimum: min, maximum: max, description });
}

/** The last moment of a `Date`. */
const LATEST = 8.64e15;

/** A time of a query: milliseconds since the epoch, as the store gives them, with a fraction or without. */
export function time(description: string) {
  const error = expected('milliseconds since the epoch');
  return z
    .string({ error })
    .regex(/^\d{1,16}(\.\d{1,20})?$/, { error })
    .transform(Number)
    .refine((value) => value <= LATEST, { error })
    .openapi({
      type: 'number',
      minimum: 0,
      maximum: LATEST,
      description: `${description} Milliseconds since the epoch.`,
    });
}

/** `true` or `false` in a query. */
export function flag(description: string, byDefault: boolean) {
  return z
    .enum(['true', 'false'], { error: expected('true or false') })
    .default(byDefault ? 'true' : 'false')
    .transform((value) => value === 'true')
    .openapi({ type: 'boolean', default: byDefault, description });
}

/** Bytes of a name in a path: four of them are less than the headers that the gateway takes. */
const LONGEST_IN_PATH = 15_000;

/** A name that has to stand in a path later: every URL parser takes `.` and `..` for steps. */
export function name(description: string) {
  const isStep = expected('a name other than "." and "..", which can’t stand in a path');
  const isLong = expected(`a name of at most ${LONGEST_IN_PATH} bytes when it is URI-encoded`);
  return text(description)
    .refine((value) => value !== '.' && value !== '..', { error: isStep })
    .refine((value) => encodeURIComponent(value.toWellFormed()).length <= LONGEST_IN_PATH, { error: isLong });
}

export function text(description: string) {
  return z
    .string({ error: expected('a string') })
    .min(1, { error: expected('a string of at least one character') })
    .openapi({ description });
}

/** Values by key, any JSON. */
export function record(description: string) {
  return z
    .record(z.string(), z.unknown(), { error: expected('an object') })
    .openapi({ type: 'object', additionalProperties: {}, description });
}

/** A request's body: a misspelt field is refused by its name. */
export function bodyOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const unknown = unknownFields(Object.keys(shape));
  const notAnObject = expected('an object');
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknown(issue as never) : notAnObject(issue)),
  });
}

/** `timeout` of what a worker must answer. */
export const ANSWER_QUERY = z.object({
  timeout: wholeNumber('How long a worker is waited for, milliseconds.', { max: 60_000 })
    .optional()
    .openapi({ default: 5_000 }),
});
