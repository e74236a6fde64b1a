import { z } from '@hono/zod-openapi';

const ERROR = z
  .object({
    error: z.looseObject({
      code: z.string().openapi({ description: 'Stays the same from release to release.' }),
      message: z.string(),
      docs: z.string().optional().openapi({ description: 'Where the code is described.' }),
    }),
  })
  .openapi('Error');

const MEANINGS = {
  400: 'The request is wrong: the message names the field.',
  401: 'No principal: the token is missing or wrong.',
  403: 'Not allowed.',
  404: 'There is no such session, turn, call, request, job or place.',
  409: 'The session, the turn that runs, the request or the job doesn’t allow it.',
  413: 'The body is too large.',
  415: 'The body isn’t JSON.',
  429: 'Too many requests: wait as long as `Retry-After` says.',
  500: 'An error that the operator finds in the log by the request id.',
  503: 'Temporal or the store can’t be reached: try again.',
  504: 'No worker has answered in time.',
} as const;

export type ErrorCode = keyof typeof MEANINGS;

const ALWAYS: readonly ErrorCode[] = [400, 401, 403, 404, 429, 500, 503];

export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } };
}

/** Documents error answers, which handlers throw: the type says nothing of them. */
export function problems(...more: readonly ErrorCode[]): Record<never, never> {
  return Object.fromEntries([...ALWAYS, ...more].map((status) => [status, json(ERROR, MEANINGS[status])]));
}

/** As {@link problems}, of a route with a body. */
export function bodyProblems(...more: readonly ErrorCode[]): Record<never, never> {
  return problems(413, 415, ...more);
}

export function jsonBody<Schema extends z.ZodType>(schema: Schema, required = true) {
  return { required, content: { 'application/json': { schema } } };
}
