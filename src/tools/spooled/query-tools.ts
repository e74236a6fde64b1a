import { z } from 'zod';
import type { FoundLine } from '../../artifacts/found-lines.ts';
import type { BaseTool } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { FunctionTool } from '../function-tool.ts';
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
  return QUERIES.filter(({ reads }) => reads.some((form) => forms.has(form))).map(({ make }) => make(open));
}

const QUERIES: readonly { reads: readonly SpooledForm[]; make: (open: Open) => BaseTool }[] = [
  {
    reads: TEXTS,
    make: (open) =>
      new FunctionTool({
        ...named('head', 'Reads the first lines of a spooled result.'),
        parameters: z.object({ artifact, lines: lineCount }),
        execute: async ({ artifact, lines }, context) => (await open(context, artifact)).head(lines),
      }),
  },
  {
    reads: TEXTS,
    make: (open) =>
      new FunctionTool({
        ...named('tail', 'Reads the last lines of a spooled result.'),
        parameters: z.object({ artifact, lines: lineCount }),
        execute: async ({ artifact, lines }, context) => (await open(context, artifact)).tail(lines),
      }),
  },
  {
    reads: TEXTS,
    make: (open) =>
      new FunctionTool({
        ...named('lines', 'Reads lines of a spooled result by their numbers.'),
        parameters: z
          .object({
            artifact,
            from: lineNumber.describe('The first line, from 1.'),
            to: lineNumber.describe('The last line.'),
          })
          .refine(({ from, to }) => from <= to, { path: ['to'], message: 'is before from' }),
        execute: async ({ artifact, from, to }, context) => (await open(context, artifact)).lines(from, to),
      }),
  },
  {
    reads: ALL,
    make: (open) =>
      new FunctionTool({
        ...named('slice', 'Reads bytes of a spooled result: text, or base64 of a binary one.'),
        parameters: z
          .object({
            artifact,
            start: place.describe('The first byte, from 0.'),
            end: place.describe('The byte after the last one.'),
          })
          .refine(({ start, end }) => start < end, { path: ['end'], message: 'is not after start' }),
        execute: async ({ artifact, start, end }, context) =>
          (await open(context, artifact)).slice(start, end),
      }),
  },
  {
    reads: TEXTS,
    make: (open) =>
      new FunctionTool({
        ...named('grep', 'Finds lines of a spooled result by a regular expression.'),
        parameters: z.object({
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
        execute: async ({ artifact, pattern, ...options }, context) =>
          (await open(context, artifact)).grep(pattern, options),
      }),
  },
  {
    reads: ['json'],
    make: (open) =>
      new FunctionTool({
        ...named('jsonpath', 'Finds places of a spooled JSON result by a JSONPath (RFC 9535).'),
        parameters: z.object({
          artifact,
          path: z.string().min(1).max(500).describe('Such as $.orders[?@.total > 100].id'),
        }),
        execute: async ({ artifact, path }, context) => (await open(context, artifact)).jsonpath(path),
      }),
  },
  {
    reads: ['json', 'csv'],
    make: (open) =>
      new FunctionTool({
        ...named('schema', 'Tells the shape of a spooled result: a JSON Schema, or the columns of CSV.'),
        parameters: z.object({ artifact }),
        execute: async ({ artifact }, context) => (await open(context, artifact)).schema(),
      }),
  },
];

function named(query: string, description: string) {
  return { name: `artifact_${query}`, description, isReadOnly: true, ephemeral: true } as const;
}
