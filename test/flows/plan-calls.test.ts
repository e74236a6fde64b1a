import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type CallPlan, type FunctionCallOfStep, planCalls } from '../../src/flows/plan-calls.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { type Gate, requestIdOf } from '../../src/protocol/gate.ts';
import { INLINE_LIMIT, PAYLOAD_LIMIT, SUMMARY_LIMIT } from '../../src/protocol/sizes.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { inTier } from '../setup/tier.ts';

const RUN = 'e-AAAAAAAAAAAAAAAAAAAAAA';
const execute = () => 1;
const open = z.looseObject({});

const plain = tool({ name: 'plain', description: 'd', parameters: open, execute });
const secret = tool({ name: 'secret', description: 'd', parameters: open, sensitive: true, execute });
const pin = tool({
  name: 'pin',
  description: 'd',
  parameters: z.looseObject({ pin: z.string() }),
  sensitive: ['pin'],
  execute,
});
const hidesResult = tool({ name: 'hides_result', description: 'd', sensitive: ['result'], execute });
const summed = tool({ name: 'summed', description: 'd', summary: ({ text }) => String(text), execute });
const throwing = tool({
  name: 'throwing',
  description: 'd',
  summary: () => {
    throw new Error('no summary');
  },
  execute,
});
const many = Array.from({ length: 150 }, (_, index) =>
  tool({ name: `tool_${'n'.repeat(100)}_${index}`, description: 'd', execute }),
);
const tools = new Map<string, BaseTool>(
  [plain, secret, pin, hidesResult, summed, throwing, ...many].map((each) => [each.name, each]),
);

const gateOf = (n: number): Gate => ({
  requestId: requestIdOf(`${RUN}.3.${n}`, 1),
  kind: 'confirmation',
  hint: '字'.repeat(500),
  attested: true,
  quorum: 12,
  allowEdit: true,
  expiresIn: 31_536_000_000,
  onExpiry: 'escalate',
  escalateAfter: 3_600_000_000,
  notifies: true,
});

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const planOf = (calls: readonly FunctionCallOfStep[]) => planCalls(RUN, 3, calls, tools);

function expectWhole(plan: CallPlan, calls: readonly FunctionCallOfStep[]): void {
  const keys = calls.map((_, index) => `${RUN}.3.${index}`);
  expect(plan.all).toEqual(
    calls.map(({ callId, name }, index) => ({ callKey: keys[index], callId, tool: name })),
  );
  const answered = plan.rows.filter(({ response }) => response !== undefined);
  expect([...plan.calls, ...answered].map(({ callKey }) => callKey).sort()).toEqual(keys.sort());
  for (const { response } of answered) expect(response).toEqual({ error: expect.stringMatching(/./) });
  for (const planned of plan.calls) {
    const given = calls[Number(planned.callKey.split('.').at(-1))];
    expect(plan.schedules).toHaveProperty([planned.tool]);
    if ('value' in planned.args) {
      expect(planned.args.value).toEqual(given?.args);
      continue;
    }
    expect(planned.args.ref).toMatchObject({ key: planned.callKey, bytes: bytesOf(given?.args) });
    expect(plan.rows.find(({ callKey }) => callKey === planned.callKey)?.args).toEqual(given?.args);
  }
}

/** What the workflow gets of the plan, with room for the rest of a step's outcome. */
function expectFits({ calls, schedules }: CallPlan): void {
  expect(bytesOf({ calls, schedules })).toBeLessThanOrEqual(PAYLOAD_LIMIT - 1024);
}

/** Calls in short form, so that a counterexample can be read. */
interface Asked {
  callId: string;
  name: string;
  argument: string;
  unit: string;
  length: number;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  callId: fc.oneof(fc.uuid(), fc.constant('call_0'), fc.string({ maxLength: 40 })),
  name: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('plain', 'summed', 'throwing', 'secret', 'pin', 'hides_result') },
    { weight: 1, arbitrary: fc.constantFrom('', 'missing', 'toString', '__proto__') },
  ),
  argument: fc.constantFrom('text', 'pin', 'n'.repeat(300)),
  unit: fc.constantFrom('x', 'é', '字', '😀', '"', '\\', '\u0001'),
  length: fc.oneof(
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 0, max: INLINE_LIMIT }),
    fc.integer({ min: 0, max: 100_000 }),
  ),
});
/** Models repeat themselves: up to 300 calls of a few kinds. */
const repeated = fc.record({
  kinds: fc.array(asked, { minLength: 1, maxLength: 12 }),
  times: fc.integer({ min: 1, max: 25 }),
});

function callsOf({ kinds, times }: { kinds: Asked[]; times: number }): FunctionCallOfStep[] {
  const calls = kinds.map(({ callId, name, argument, unit, length }) => ({
    callId,
    name,
    args: { [argument]: unit.repeat(length) },
  }));
  return Array.from({ length: times }, () => calls).flat();
}

describe('the plan of a step', () => {
  test('plans or answers every call, by its own key; arguments by reference stand in its rows [size.plan]', () => {
    fc.assert(
      fc.property(repeated, (given) => expectWhole(planOf(callsOf(given)), callsOf(given))),
      { numRuns: inTier(5, 50) },
    );
  });

  test('fits one payload, whatever the number and size of calls [size.plan]', () => {
    fc.assert(
      fc.property(repeated, (given) => expectFits(planOf(callsOf(given)))),
      { numRuns: inTier(10, 100) },
    );
  });

  test.each<[string, FunctionCallOfStep[]]>([
    ['of 128 tools with long names', many.map((each, n) => ({ callId: `c${n}`, name: each.name, args: {} }))],
    [
      'with 128 summaries of wide characters',
      Array.from({ length: 128 }, (_, n) => ({
        callId: `c${n}`,
        name: 'summed',
        args: { text: '字'.repeat(900) },
      })),
    ],
    [
      'with argument names that the model made up, 2 KB each',
      Array.from({ length: 128 }, (_, n) => ({
        callId: `c${n}`,
        name: 'plain',
        args: { ['n'.repeat(2000)]: n },
      })),
    ],
    [
      'with call ids of 1 KB from the provider',
      Array.from({ length: 128 }, (_, n) => ({ callId: `${n}`.padEnd(1024, 'i'), name: 'plain', args: {} })),
    ],
    [
      'with 128 calls that wait for people, by hints of wide characters',
      Array.from({ length: 128 }, (_, n) => ({
        callId: `c${n}`,
        name: 'plain',
        args: { text: '字'.repeat(300) },
        prepared: true as const,
        gate: gateOf(n),
      })),
    ],
  ])('fits one payload %s [size.plan]', (_name, given) => {
    const plan = planOf(given);
    expectWhole(plan, given);
    expectFits(plan);
  });

  test('keeps what callbacks did for a call, and caps its hint, which tells nothing of a sensitive call [size.plan] [tool.sensitive]', () => {
    const prepared = true as const;
    const actions = { stateDelta: { seen: true } };
    const given = { callId: 'c', args: {}, prepared, gate: gateOf(1) };
    const plan = planOf([
      { ...given, name: 'plain', actions },
      { ...given, name: 'secret' },
      { ...given, name: 'pin' },
    ]);
    const [open, ...hidden] = plan.calls.map(({ gate }) => gate?.hint ?? 'none');
    expect(Buffer.byteLength(open ?? '')).toBeLessThanOrEqual(200);
    expect(open).toMatch(/^字+…$/);
    expect(hidden).toEqual(['', '']);
    expect(plan.rows[0]).toEqual({ callKey: `${RUN}.3.0`, callId: 'c', tool: 'plain', index: 0, actions });
  });

  test('carries no sensitive argument, nor an excerpt or digest of one [tool.sensitive]', () => {
    const hidden = fc.record({
      callId: fc.uuid(),
      name: fc.constantFrom('secret', 'pin'),
      args: fc.string({ maxLength: 300 }).map((rest) => ({ pin: `planted-${rest}`, text: 'planted' })),
    });
    fc.assert(
      fc.property(fc.array(hidden, { minLength: 1, maxLength: 10 }), (given) => {
        const plan = planOf(given);
        expect(JSON.stringify(plan.calls)).not.toContain('planted');
        for (const { args: carried } of plan.calls) expect(carried).toHaveProperty('ref.digest', '');
      }),
    );
  });

  test('hides arguments of which only the result is sensitive where one has its name [tool.sensitive]', () => {
    const [shown, named] = planOf([
      { callId: 'a', name: 'hides_result', args: { id: 'planted' } },
      { callId: 'b', name: 'hides_result', args: { result: 'planted' } },
    ]).calls;
    expect(shown?.args).toEqual({ value: { id: 'planted' } });
    expect(named?.args).toHaveProperty('ref.gist', '(sensitive)');
  });

  test('keeps a digest of arguments that travel by reference [size.plan]', () => {
    const given = { text: 'x'.repeat(INLINE_LIMIT) };
    const [planned] = planOf([{ callId: 'a', name: 'plain', args: given }]).calls;
    expect(planned?.args).toMatchObject({ ref: { digest: digestOf(given) } });
  });

  test("a call's summary is the tool's; short values of its arguments where there is none, or it throws [turn.calls]", () => {
    const given = { b: 1, text: 'about orders' };
    const summaries = ['plain', 'summed', 'throwing', 'secret', 'hides_result'].map(
      (each) => planOf([{ callId: 'a', name: each, args: given }]).calls[0]?.summary,
    );
    expect(summaries).toEqual([
      'b: 1, text: about orders',
      'about orders',
      'b: 1, text: about orders',
      'b, text',
      'b: 1, text: about orders',
    ]);
    expect(planOf([{ callId: 'a', name: 'plain', args: {} }]).calls[0]).not.toHaveProperty('summary');
  });

  test('a summary is short, and nothing in it is unseen, whatever the model wrote [turn.summary]', () => {
    const summaryOf = (name: string, args: Record<string, unknown>) =>
      planOf([{ callId: 'a', name, args }]).calls[0]?.summary ?? '';
    expect(summaryOf('plain', { order: 'A-\u202e1\n2', lines: [{ n: 1 }], ok: true, none: null })).toBe(
      'order: A-\\u202e1\\u000a2, lines: [{"n":1}], ok: true, none: null',
    );
    expect(summaryOf('plain', { order: undefined, n: 1 })).toBe('n: 1');
    expect(summaryOf('summed', { text: 'a\u200bb' })).toBe('a\\u200bb');
    expect(summaryOf('plain', { text: 'x'.repeat(1_000), n: 1 })).toBe(`text: ${'x'.repeat(39)}…, n: 1`);
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`名${index}`, '値'.repeat(99)]),
    );
    expect(Buffer.byteLength(summaryOf('plain', many))).toBeLessThanOrEqual(SUMMARY_LIMIT);
    expect(summaryOf('secret', { '\u202epin': 1234 })).toBe('\\u202epin');
  });

  test("schedules are the tools' durable options, in milliseconds, once for each tool [tool.schedule]", () => {
    const slow = tool({
      name: 'slow',
      description: 'd',
      timeout: '2 minutes',
      totalTimeout: '1 hour',
      heartbeatTimeout: '20s',
      retry: { initialInterval: 5, maximumInterval: 50, backoffCoefficient: 3 },
      isConcurrencySafe: false,
      execute,
    });
    const inline = tool({ name: 'inline', description: 'd', execution: 'inline', execute });
    const { schedules } = planCalls(
      RUN,
      1,
      ['slow', 'inline', 'slow'].map((each, n) => ({ callId: `${n}`, name: each, args: {} })),
      new Map<string, BaseTool>([
        ['slow', slow],
        ['inline', inline],
      ]),
    );
    expect(schedules).toEqual({
      slow: {
        startToClose: 125_000,
        scheduleToClose: 3_605_000,
        heartbeat: 20_000,
        exclusive: true,
      },
      inline: {
        startToClose: 15_000,
        scheduleToClose: 3_605_000,
        heartbeat: 10_000,
        inline: true,
      },
    });
  });

  test('a tool named like a member of every object has its schedule [tool.names]', () => {
    const named = ['constructor', 'toString', 'valueOf', 'hasOwnProperty'];
    const { calls: planned, schedules } = planCalls(
      RUN,
      1,
      named.map((each) => ({ callId: each, name: each, args: {} })),
      new Map(named.map((each) => [each, tool({ name: each, description: 'd', execute })])),
    );
    expect(planned.map((each) => each.tool)).toEqual(named);
    expect(Object.keys(schedules)).toEqual(named);
  });

  test('an unknown tool is answered with the names of those that there are [tool.unknown]', () => {
    const { calls: planned, rows } = planOf([{ callId: 'a', name: 'plane', args: { a: 1 } }]);
    expect(planned).toEqual([]);
    expect(rows).toEqual([
      {
        callKey: `${RUN}.3.0`,
        index: 0,
        callId: 'a',
        tool: 'plane',
        response: {
          error: expect.stringMatching(/^tool 'plane' not found\.\nAvailable tools: plain, secret, pin/),
        },
      },
    ]);
  });
});
