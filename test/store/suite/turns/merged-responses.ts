import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Part } from '../../../../src/events/content.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { Turn } from './turn.ts';

const text = fc.oneof(fc.constantFrom('', '"', '\\', '}', ',', 'ä\n\t', '\u2028', '[]'), fc.string());
// Where an object had a key that begins with a backslash, V8 13.6 parses other keys with escapes in its place as that one.
const key = text.filter((name) => !name.startsWith('\\'));
const json = fc.oneof(
  text,
  fc.integer(),
  fc.constant(null),
  fc.array(fc.oneof(text, fc.boolean()), { maxLength: 2 }),
  fc.dictionary(key, text, { maxKeys: 2 }),
);
const object = fc.dictionary(key, json, { maxKeys: 3 });
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ inlineData: fc.record({ mimeType: text, data: text }) }),
  fc.record({ text }),
);

const call = fc.record({
  code: fc.boolean(),
  response: fc.oneof(
    object,
    fc.record({ error: json }),
    fc.record({ outcome: fc.constantFrom('OUTCOME_OK', 'OUTCOME_FAILED'), output: text }),
  ),
  parts: fc.option(fc.array(part, { maxLength: 3 }), { nil: undefined }),
  stateDelta: fc.option(
    fc.dictionary(fc.constantFrom('a', 'b', 'app:x', 'user:y', 'temp:z'), json, { maxKeys: 3 }),
    { nil: undefined },
  ),
  artifactDelta: fc.option(fc.dictionary(fc.constantFrom('f', 'g'), fc.nat(9)), { nil: undefined }),
  begins: fc.boolean(),
  /** The workflow settles it, in place of its activity. */
  unsettled: fc.boolean(),
});

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

const withoutTemporary = (delta: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(delta).filter(([key]) => !key.startsWith('temp:')));

export function mergedResponseSuite(store: () => PostgresStore): void {
  test('what is seen before a step opens is what it appends, of any calls [plugin.events] [agent.codeExecutor]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 5 }), async (calls) => {
        const turn = new Turn(store());
        await turn.opened(1);
        await turn.commit(1, calls.length, {
          code: calls.flatMap(({ code }, index) => (code ? [index] : [])),
        });
        await settleAll(turn, calls);

        const { responses, state, seq } = await turn.peek(2);
        expect(seq).toBe(2);
        expect(responses?.content?.parts).toEqual(calls.flatMap(expectedParts));
        const opened = await turn.opened(2);
        const { id: _id, timestamp: _timestamp, ...appended } = opened.events.at(-1)?.event ?? {};
        const delta = responses?.actions.stateDelta ?? {};
        expect(appended).toEqual({
          ...responses,
          actions: { ...responses?.actions, stateDelta: withoutTemporary(delta) },
        });
        expect(opened.state).toEqual({ ...state, ...delta });
      }),
      { numRuns: inTier(6, 60) },
    );
  });
}

async function settleAll(turn: Turn, calls: readonly Call[]): Promise<void> {
  const actionsOf = ({ stateDelta, artifactDelta }: Call) => ({
    ...(stateDelta === undefined ? {} : { stateDelta }),
    ...(artifactDelta === undefined ? {} : { artifactDelta }),
  });
  await Promise.all(
    calls.map(async (call, index) => {
      const { response, parts, begins, unsettled } = call;
      if (begins) await turn.begin(1, index);
      if (!unsettled) await turn.settle(1, index, response, actionsOf(call), parts);
    }),
  );
  await turn.end(
    1,
    calls.flatMap((call, index) => {
      const { response, parts, unsettled } = call;
      if (!unsettled) return [];
      return [
        {
          index,
          error: 'timed out',
          response,
          actions: actionsOf(call),
          ...(parts === undefined ? {} : { parts }),
        },
      ];
    }),
  );
}

function expectedParts({ code, response, parts = [] }: Call, index: number): Part[] {
  const answer = code
    ? {
        codeExecutionResult: 'outcome' in response && response.outcome !== null ? response : failed(response),
      }
    : { functionResponse: { id: `call_${index}`, name: 'pay', response } };
  return [answer as Part, ...parts];
}

function failed(response: Record<string, unknown>): object {
  const error = response.error ?? response;
  return {
    outcome: 'OUTCOME_FAILED',
    output: typeof error === 'string' ? error : JSON.stringify(error),
  };
}
