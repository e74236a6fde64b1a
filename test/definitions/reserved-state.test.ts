import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { callActionsOf } from '../../src/flows/call-actions.ts';
import { ReservedStateKey, State } from '../../src/tools/state.ts';
import { checkedTurn } from '../../src/workflow/checked-turn.ts';

/** In any case of its letters. */
const reserved = fc
  .tuple(fc.constantFrom('temp:_holdfast_', 'temp:holdfast_'), fc.string(), fc.infiniteStream(fc.boolean()))
  .map(([prefix, name, upper]) => {
    const letters = [...prefix.slice('temp:'.length)];
    const cases = letters.map((letter) => (upper.next().value ? letter.toUpperCase() : letter));
    return `temp:${cases.join('')}${name}`;
  });

test('a reserved key is refused by the state of tools and callbacks, with an error of its own [state.reserved]', () => {
  fc.assert(
    fc.property(reserved, fc.jsonValue(), (key, value) => {
      const delta = {};
      expect(() => new State({}, delta).set(key, value)).toThrow(ReservedStateKey);
      expect(() => new State({}, delta).update({ [key]: value })).toThrow(ReservedStateKey);
      expect(delta).toEqual({});
      const actions = createEventActions({ stateDelta: { seen: 1, [key]: 1 } });
      expect(() => callActionsOf(actions)).toThrow(/context\.actions\.stateDelta: .*reserved for Holdfast/);
    }),
  );
  expect(new ReservedStateKey('temp:_holdfast_tools')).toMatchObject({
    code: 'HOLDFAST_RESERVED_STATE_KEY',
    retryable: false,
    message: expect.stringContaining('"temp:_holdfast_tools"'),
  });
});

test('an agent’s outputKey, and the state of a workflow’s turn, must not be one either [state.reserved]', () => {
  const outputKey = 'temp:holdfast_question';
  expect(() => new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', outputKey })).toThrow(
    /outputKey: .*reserved for Holdfast/,
  );
  const names = { app: 'shop', userId: 'ada', sessionId: 's1', messageId: 'm1' };
  const stateDelta = { 'temp:_holdfast_end': true };
  expect(() => checkedTurn({ ...names, message: 'hi', stateDelta })).toThrow(
    /runAgent: stateDelta: .*reserved for Holdfast/,
  );
});

test('keys that only look like them, and those inside a value, are the user’s [state.reserved]', () => {
  const state = new State();
  const keys = [
    'holdfast_tools',
    '_holdfast_tools',
    'user:holdfast_x',
    'temp:my_holdfast_',
    '__proto__',
    'temp:',
  ];
  for (const key of keys) state.set(key, { 'temp:_holdfast_tools': [1] });
  expect(Object.keys(state.toRecord()).sort()).toEqual(keys.toSorted());
});
