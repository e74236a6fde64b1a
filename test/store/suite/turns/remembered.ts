import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEventActions } from '../../../../src/events/event-actions.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { type Begun, Turn } from './turn.ts';

const NOTHING = { toolEdits: [], ends: false };

const EDITS = [{ add: 'refunder', args: { limit: 1e9 } }, { remove: 'look' }];

/** Ways to write a key that somebody might take for one of ours. */
const key = fc
  .tuple(
    fc.constantFrom('', 'temp:', 'TEMP:', 'user:', 'app:', 'temp:temp:', 'temp: '),
    fc.constantFrom(
      '_holdfast_',
      '_HOLDFAST_',
      '_Holdfast_',
      'holdfast_',
      '__proto__',
      'remembered',
      'tool_',
    ),
    fc.constantFrom('tools', 'end', 'question', 'edits', 'toolEdits', 'ends', '', 'tools:e-1'),
  )
  .map((parts) => parts.join(''));

const state = fc.dictionary(
  fc.oneof(key, fc.constantFrom('__proto__', 'constructor', 'remembered', 'tool_edits', 'ends')),
  fc.oneof(fc.constant(EDITS), fc.constant(true), fc.constant({ _holdfast_tools: EDITS, toolEdits: EDITS })),
  { noNullPrototype: true },
);

const isOwn = (name: string) => name.startsWith('temp:') && /^temp:_?holdfast_/i.test(name);

export function rememberedSuite(store: () => PostgresStore): void {
  test('no state delta of a message, a model, a tool or a merge reaches what is remembered of a run [state.reserved]', async () => {
    await fc.assert(
      fc.asyncProperty(state, state, state, async (sent, said, done) => {
        const turn = new Turn(store());
        const opened = await turn.opened(1, { stateDelta: sent });
        expect(opened.remembered).toEqual(NOTHING);
        expect(Object.keys(opened.state).filter(isOwn)).toEqual([]);
        await turn.commit(1, 1, { actions: createEventActions({ stateDelta: said }) });
        const begun = (await turn.begin(1, 0)) as Begun;
        expect(begun.remembered).toEqual(NOTHING);
        expect(Object.keys(begun.state).filter(isOwn)).toEqual([]);
        await turn.settle(1, 0, { ok: true }, { stateDelta: done });
        const next = await turn.opened(2);
        expect(next.remembered).toEqual(NOTHING);
        expect(Object.keys(next.state).filter(isOwn)).toEqual([]);
        await turn.commit(2, 0);
      }),
      { numRuns: inTier(5, 25) },
    );
  });

  test('what is remembered is of one run: its latest edits, and that its invocation has ended [registry.factory]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1, { toolEdits: EDITS });
    expect(await turn.begin(1, 0)).toMatchObject({ remembered: { toolEdits: EDITS, ends: false } });
    await turn.settle(1, 0, { ok: true });
    expect((await turn.opened(2)).remembered).toEqual({ toolEdits: EDITS, ends: false });
    await turn.commit(2, 1, { toolEdits: [] });
    await turn.settle(2, 0, { ok: true });
    expect((await turn.opened(3)).remembered).toEqual(NOTHING);
    await turn.commit(3, 1, { ends: true });
    expect((await turn.peek(3)).remembered).toEqual({ toolEdits: [], ends: true });
  });
}
