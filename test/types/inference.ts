/** What the compiler makes of definitions. Compiled, never run. */
import { Type } from '@google/genai';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import {
  type Context,
  type ContextJob,
  FunctionTool,
  type JobOptions,
  type JobView,
  LlmAgent,
  LongRunningFunctionTool,
  Media,
  tool,
} from '../../src/index.ts';

const base = { name: 't', description: '' };

// zod 4: what comes out of the schema.
tool({
  ...base,
  parameters: z.object({
    city: z.string(),
    days: z.number().default(1),
    at: z.coerce.date(),
    tags: z.array(z.enum(['a', 'b'])).optional(),
  }),
  execute: (input, context) => {
    expectTypeOf(input).toEqualTypeOf<{
      city: string;
      days: number;
      at: Date;
      tags?: ('a' | 'b')[] | undefined;
    }>();
    expectTypeOf(context).toEqualTypeOf<Context>();
    expectTypeOf(context.once('k', async () => 3)).toEqualTypeOf<Promise<number>>();
    expectTypeOf(context.idempotencyKey).toBeString();
    // @ts-expect-error no such argument
    input.town;
  },
});

// Unions and other schemas of objects.
tool({
  ...base,
  parameters: z.discriminatedUnion('t', [
    z.object({ t: z.literal('a'), n: z.number() }),
    z.object({ t: z.literal('b') }),
  ]),
  execute: (input) => {
    if (input.t === 'a') expectTypeOf(input.n).toBeNumber();
  },
});
tool({
  ...base,
  parameters: z.record(z.string(), z.number()),
  execute: (input) => expectTypeOf(input).toEqualTypeOf<Record<string, number>>(),
});

// zod 3.
new FunctionTool({
  ...base,
  parameters: z3.object({
    city: z3.string(),
    days: z3.number().default(1),
    n: z3.string().transform(Number),
  }),
  execute: (input) => expectTypeOf(input).toEqualTypeOf<{ city: string; days: number; n: number }>(),
});

// JSON Schema written in place.
tool({
  ...base,
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'where' },
      unit: { enum: ['c', 'f'] },
      days: { type: ['integer', 'null'] },
      stops: {
        type: 'array',
        items: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
      },
      any: {},
      either: { anyOf: [{ type: 'string' }, { type: 'boolean' }] },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
    required: ['city', 'days'],
    additionalProperties: false,
  },
  execute: (input) =>
    expectTypeOf(input).toEqualTypeOf<{
      city: string;
      days: number | null;
      unit?: 'c' | 'f';
      stops?: { at: number }[];
      any?: unknown;
      either?: string | boolean;
      labels?: Record<string, string>;
    }>(),
});

// The provider's Schema written in place.
tool({
  ...base,
  parameters: {
    type: Type.OBJECT,
    properties: { city: { type: Type.STRING, nullable: true }, n: { type: 'INTEGER' } },
    required: ['city'],
  },
  execute: (input) => expectTypeOf(input).toEqualTypeOf<{ city: string | null; n?: number }>(),
});

// Schemas that the compiler knows nothing of, and none at all.
declare const someSchema: Record<string, unknown>;
declare const widened: { type: string; properties: Record<string, { type: string }> };
tool({
  ...base,
  parameters: someSchema,
  execute: (input) => expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>(),
});
tool({
  ...base,
  parameters: widened,
  execute: (input) => expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>(),
});
tool({ ...base, execute: (input) => expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>() });

// Results.
tool({ ...base, outputSchema: z.object({ celsius: z.number() }), execute: async () => ({ celsius: 21 }) });
tool({ ...base, outputSchema: { type: 'array', items: { type: 'string' } }, execute: () => ['a'] });
tool({ ...base, outputSchema: z.object({ n: z.number().default(1) }), execute: () => ({}) });
// @ts-expect-error the result doesn't match
tool({ ...base, outputSchema: z.object({ celsius: z.number() }), execute: () => ({ celsius: '21' }) });
// @ts-expect-error nor does this promise
tool({ ...base, outputSchema: z3.object({ celsius: z3.number() }), execute: async () => ({ kelvin: 1 }) });

// What is no schema of an object.
// @ts-expect-error
tool({ ...base, parameters: z.string(), execute: () => 1 });
// @ts-expect-error
tool({ ...base, parameters: z3.number(), execute: () => 1 });
// @ts-expect-error
tool({ ...base, parameters: 'object', execute: () => 1 });

// Options.
tool({
  ...base,
  timeout: '90s',
  totalTimeout: 7_200_000,
  retry: { initialInterval: '2 seconds' },
  execute: () => 1,
});
// @ts-expect-error no duration
tool({ ...base, timeout: 'soon', execute: () => 1 });
// @ts-expect-error misspelt
tool({ ...base, timeouts: 5, execute: () => 1 });
tool({ ...base, onUnknownOutcome: 'ask', execute: () => 1 });
// @ts-expect-error no description
tool({ name: 't', execute: () => 1 });

// Agents.
const agent = new LlmAgent({
  name: 'a',
  model: 'm',
  tools: [
    tool({ ...base, parameters: z.object({ a: z.string() }), execute: () => 1 }),
    new FunctionTool({ ...base, execute: () => 1 }),
  ],
  modelTimeout: '10m',
  instruction: async (context) => context.state.get<string>('plan') ?? '',
});
expectTypeOf(agent.durable.modelTimeout).toBeNumber();
// @ts-expect-error options are no tool
new LlmAgent({ name: 'a', model: 'm', tools: [{ ...base, execute: () => 1 }] });
new LlmAgent({ name: 'a', model: 'm', subAgents: [agent] });
new LlmAgent({ name: 'a', model: 'm', mode: 'task' });
// @ts-expect-error no such mode
new LlmAgent({ name: 'a', model: 'm', mode: 'chat' });

// Generators, media and long-running functions, whatever the schema of the result.
const lines = z.object({ lines: z.number() });
tool({
  ...base,
  parameters: z.object({ path: z.string() }),
  outputSchema: lines,
  execute: async function* ({ path }) {
    expectTypeOf(path).toBeString();
    yield path;
    yield { content: { lines: 1 }, streaming: false };
  },
});
tool({
  ...base,
  outputSchema: lines,
  execute: () => [new Media({ mimeType: 'image/png', data: new Uint8Array([1]) })],
});
tool({ ...base, outputSchema: lines, execute: async () => new Uint8Array([1]) });
// @ts-expect-error another result
tool({ ...base, outputSchema: lines, execute: () => 'none' });
new LongRunningFunctionTool({
  ...base,
  parameters: z.object({ part: z.string() }),
  execute: ({ part }, context) => {
    expectTypeOf(part).toBeString();
    expectTypeOf(context).toEqualTypeOf<Context>();
    return { status: 'pending' };
  },
});

// Hooks of a job get the job; what a call that goes on returns is told by no schema, its outcome is.
new LongRunningFunctionTool({
  ...base,
  outputSchema: lines,
  execute: async (_, { job }) => {
    expectTypeOf(job).toEqualTypeOf<ContextJob>();
    expectTypeOf(job.progress(0.5, 'half')).toEqualTypeOf<Promise<void>>();
    return { status: 'ordered' };
  },
  poll: async (job, context) => {
    expectTypeOf(job).toEqualTypeOf<JobView>();
    expectTypeOf(context).toEqualTypeOf<Context>();
    return job.args.month === undefined ? undefined : { lines: 1 };
  },
  pollInterval: '5m',
  cancel: async (job, { abortSignal }) => {
    expectTypeOf(job.id).toBeString();
    expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
  },
  onTimeout: (job) => job.intermediate,
  deadline: '30 days',
});
tool({ ...base, isLongRunning: true, cancel: (job) => job.until, execute: () => undefined });
tool({ ...base, cancel: (callId) => callId.startsWith('c'), execute: () => undefined });
tool({
  ...base,
  execute: (_, context) => {
    expectTypeOf(context.longRunning).toBeBoolean();
    context.longRunning = true;
  },
});
// @ts-expect-error no duration
tool({ ...base, isLongRunning: true, deadline: 'soon', execute: () => 1 });
// @ts-expect-error another result
tool({ ...base, inProcess: true, outputSchema: lines, execute: () => 'none' });
const job: JobOptions = { poll: () => undefined, pauseOnReturn: true };
expectTypeOf(new LongRunningFunctionTool({ ...base, ...job, execute: () => 1 }).job.deadline).toBeNumber();

// What a tool waits for gets the arguments as its function does.
tool({
  ...base,
  parameters: z.object({ amount: z.number(), note: z.string().default('') }),
  requireConfirmation: ({ amount, note }, { userId }) => amount > note.length && userId !== 'ada',
  requireConfirmationProvider: async ({ amount }) => ({ hint: `Pay ${amount}?`, payload: { amount } }),
  confirmationHint: ({ note }) => note.trim(),
  approval: { approvers: ['mira'], expiresIn: '2 hours' },
  execute: ({ amount }) => amount,
});
tool({ ...base, requireConfirmation: true, confirmationHint: 'Pay?', execute: () => 1 });
// @ts-expect-error no such argument
tool({ ...base, parameters: z.object({ a: z.number() }), confirmationHint: ({ b }) => b, execute: () => 1 });
// @ts-expect-error no duration
tool({ ...base, requireConfirmation: true, approval: { expiresIn: 'soon' }, execute: () => 1 });
// @ts-expect-error no such end
tool({ ...base, requireConfirmation: true, approval: { onExpiry: 'wait' }, execute: () => 1 });

// Answers of people are what the schema makes of them.
tool({
  ...base,
  execute: async (_, context) => {
    expectTypeOf(await context.requestInput({ message: '?' })).toEqualTypeOf<unknown>();
    const address = await context.requestInput({
      message: '?',
      responseSchema: z.object({ street: z.string(), copies: z.number().default(1) }),
    });
    expectTypeOf(address).toEqualTypeOf<{ street: string; copies: number }>();
    const choice = await context.requestInput({
      message: '?',
      responseSchema: { type: 'string', enum: ['a', 'b'] },
    });
    expectTypeOf(choice).toEqualTypeOf<'a' | 'b'>();
  },
});
