import { z } from 'zod';
import type { FoundLine } from '../../artifacts/found-lines.ts';
import type { BaseTool } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { trustedResult } from '../function-response.ts';
import { FunctionTool } from '../function-tool.ts';
import { plannedOnly } from '../tool-gate.ts';
import type { SpooledForm } from './spool-options.ts';

/** Text that a query found. */
export interface TextAnswer {
  text: string;
  /** There is more than was asked for, or than one answer can hold. */
  truncated?: true;
}

export interface GrepOptions {
  /** @default false */
  ignoreCase?: boolean | undefined;
  /** Lines before and after each match. @default 0 */
  context?: number | undefined;
  /** Matches, at most. @default 50 */
  limit?: number | undefined;
  /** Line from which to search. @default 1 */
  from?: number | undefined;
}

/** The queries of a spooled result. */
export interface SpooledQueries {
  readonly trusted: boolean;
  head(lines?: number): Promise<TextAnswer>;
  tail(lines?: number): Promise<TextAnswer>;
  lines(from: number, to: number): Promise<TextAnswer>;
  slice(start: number, end: number): Promise<TextAnswer>;
  grep(pattern: string, options?: GrepOptions): Promise<{ matches: FoundLine[] }>;
  jsonpath(path: string): Promise<{ matches: unknown[] }>;
  schema(): Promise<Record<string, unknown>>;
}

type Open = (context: Context, name: string) => Promise<SpooledQueries>;

const artifact = z.string().max(1_024).describe('The name of the result, as its tool has answered it.');
const lineNumber = z.number().int().min(1);
const lineCount = lineNumber.max(1_000).optional().describe('How many lines; 20 by default.');
const place = z.number().int().min(0);

const TEXTS: readonly SpooledForm[] = ['text', 'json', 'csv'];
const ALL: readonly SpooledForm[] = [...TEXTS, 'binary'];

/** The tools that query spooled results of these forms. */
export function queryTools(open: Open, forms: ReadonlySet<SpooledForm> = new Set(ALL)): BaseTool[] {
  const queries = QUERIES.filter(({ reads }) => reads.some((form) => forms.has(form)));
  return queries.map(({ make }) => plannedOnly(make(open)));
}

interface Query {
  reads: readonly SpooledForm[];
  make: (open: Open) => BaseTool;
}

const QUERIES: readonly Query[] = [
  query(
    { name: 'head', description: 'Reads the first lines of a spooled result.', reads: TEXTS },
    z.object({ artifact, lines: lineCount }),
    (found, { lines }) => found.head(lines),
  ),
  query(
    { name: 'tail', description: 'Reads the last lines of a spooled result.', reads: TEXTS },
    z.object({ artifact, lines: lineCount }),
    (found, { lines }) => found.tail(lines),
  ),
  query(
    { name: 'lines', description: 'Reads lines of a spooled result by their numbers.', reads: TEXTS },
    z
      .object({
        artifact,
        from: lineNumber.describe('The first line, from 1.'),
        to: lineNumber.describe('The last line.'),
      })
      .refine(({ from, to }) => from <= to, { path: ['to'], message: 'is before from' }),
    (found, { from, to }) => found.lines(from, to),
  ),
  query(
    {
      name: 'slice',
      description: 'Reads bytes of a spooled result: text, or base64 of a binary one.',
      reads: ALL,
    },
    z
      .object({
        artifact,
        start: place.describe('The first byte, from 0.'),
        end: place.describe('The byte after the last one.'),
      })
      .refine(({ start, end }) => start < end, { path: ['end'], message: 'is not after start' }),
    (found, { start, end }) => found.slice(start, end),
  ),
  query(
    { name: 'grep', description: 'Finds lines of a spooled result by a regular expression.', reads: TEXTS },
    z.object({
      artifact,
      pattern: z
        .string()
        .min(1)
        .max(1_000)
        .describe('Regular expression, without look-around and back references.'),
      ignoreCase: z.boolean().optional(),
      context: z
        .number()
        .int()
        .min(0)
        .max(10)
        .optional()
        .describe('Lines before and after each match; 0 by default.'),
      limit: z.number().int().min(1).max(200).optional().describe('Matches at most; 50 by default.'),
      from: lineNumber.optional().describe('The line from which to search; 1 by default.'),
    }),
    (found, { artifact: _artifact, pattern, ...options }) => found.grep(pattern, options),
  ),
  query(
    {
      name: 'jsonpath',
      description: 'Finds places of a spooled JSON result by a JSONPath (RFC 9535).',
      reads: ['json'],
    },
    z.object({
      artifact,
      path: z.string().min(1).max(500).describe('Such as $.orders[?@.total > 100].id'),
    }),
    (found, { path }) => found.jsonpath(path),
  ),
  query(
    {
      name: 'schema',
      description: 'Tells the shape of a spooled result: a JSON Schema, or the columns of CSV.',
      reads: ['json', 'csv'],
    },
    z.object({ artifact }),
    (found) => found.schema(),
  ),
];

/** A query whose answer is as trusted as what it reads. */
function query<Parameters extends z.ZodObject<{ artifact: z.ZodString }>>(
  { name, description, reads }: { name: string; description: string; reads: readonly SpooledForm[] },
  parameters: Parameters,
  ask: (found: SpooledQueries, args: z.output<Parameters>) => Promise<object>,
): Query {
  const make = (open: Open) =>
    new FunctionTool({
      ...{ name: `artifact_${name}`, description, parameters, isReadOnly: true, ephemeral: true },
      execute: async (given, context) => {
        const args = given as z.output<Parameters> & { artifact: string };
        const found = await open(context, args.artifact);
        const answer = await ask(found, args);
        return found.trusted ? trustedResult(answer) : answer;
      },
    });
  return { reads, make };
}
