import type { Context } from 'hono';
import type { ZodError } from 'zod';
import { didYouMean } from '../schema/known-fields.ts';
import { RequestRefused } from './gateway-errors.ts';

type Issue = ZodError['issues'][number];

const PLACES: Record<string, string> = { json: 'body', query: 'query', param: 'path', header: 'header' };

/** At most so many problems are told at once. */
const MOST_TOLD = 5;

/** Answers input that its route's schema refuses; the hook of every route. */
export function refuseInvalid(
  result: { target: string } & ({ success: true } | { success: false; error: ZodError }),
  _context: Context,
): void {
  if (result.success) return;
  const place = PLACES[result.target] ?? result.target;
  const { issues } = result.error;
  const told = issues.slice(0, MOST_TOLD).map((issue) => `${fieldOf(place, issue)}: ${issue.message}`);
  const more = issues.length - told.length;
  throw new RequestRefused(
    'HOLDFAST_GATEWAY_BAD_REQUEST',
    told.join('; ') + (more > 0 ? `; and ${more} more` : ''),
  );
}

function fieldOf(place: string, { path }: Issue): string {
  return path.reduce<string>(
    (field, part) => (typeof part === 'number' ? `${field}[${part}]` : `${field}.${String(part)}`),
    place,
  );
}

/** For a schema's `error`: names the field that was meant. */
export function unknownFields(known: readonly string[]) {
  return (issue: { code?: string | undefined; keys?: readonly string[] }): string | undefined =>
    issue.code === 'unrecognized_keys' ? toldOf(issue.keys ?? [], known) : undefined;
}

function toldOf(keys: readonly string[], known: readonly string[]): string {
  const told = keys
    .slice(0, MOST_TOLD)
    .map((key) => `there is no field "${key.slice(0, 100)}"${didYouMean(key.slice(0, 100), known)}`);
  const more = keys.length - told.length;
  return told.join(', ') + (more > 0 ? `, nor are there ${more} others` : '');
}

/** For a schema's `error`: what was expected, and the shape of what came. */
export function expected(what: string) {
  return ({ input }: { input?: unknown }): string => `expected ${what}, got ${shapeOf(input)}`;
}

/** Never the value itself, which may be a secret. */
function shapeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'an empty string' : 'a string';
  if (typeof value === 'number') return `the number ${value}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
