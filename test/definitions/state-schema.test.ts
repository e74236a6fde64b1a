import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as z3 from 'zod/v3';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { draftOf } from '../../src/flows/draft-event.ts';
import { State } from '../../src/tools/state.ts';
import { isStateSchemaError, StateSchemaError } from '../../src/tools/state-schema.ts';
import { contextWith } from './tool-context.ts';

const agentOf = (more: object = {}) => new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', ...more });
const SCHEMAS = {
  'zod 4': z.object({ city: z.string(), orders: z.array(z.object({ id: z.string() })).optional() }),
  'zod 3': z3.z.object({
    city: z3.z.string(),
    orders: z3.z.array(z3.z.object({ id: z3.z.string() })).optional(),
  }),
  'JSON Schema': {
    type: 'object',
    properties: { city: { type: 'string' }, orders: { type: 'array', items: { $ref: '#/$defs/order' } } },
    $defs: { order: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } },
  },
} as const;

describe.each(Object.entries(SCHEMAS))('a state schema of %s', (_, stateSchema) => {
  const stateOf = () => contextWith({ agent: agentOf({ stateSchema }) }).state;

  test('takes its keys, and keys with a prefix [state.schema]', () => {
    const state = stateOf();
    state.set('city', 'Wien');
    state.update({
      orders: [{ id: 'FH-1' }],
      'user:plan': 5,
      'app:open': true,
      'temp:x': null,
      'else:where': 1,
    });
    expect(state.get('orders')).toEqual([{ id: 'FH-1' }]);
  });

  test('refuses other keys and other values, and writes nothing then [state.schema]', () => {
    const state = stateOf();
    expect(() => state.set('town', 'Wien')).toThrow(
      `Key 'town' is not declared in the state schema. Declared fields: ["city","orders"]`,
    );
    expect(() => state.update({ city: 'Wien', orders: [{ id: 7 }] })).toThrow(
      /^Value for 'orders' does not match the type declared in the state schema: .*id/,
    );
    expect(state.hasDelta()).toBe(false);
    const error = (() => {
      try {
        state.set('__proto__', 1);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(isStateSchemaError(error)).toBe(true);
    expect(error).toMatchObject({ code: 'HOLDFAST_STATE_SCHEMA', retryable: false });
  });
});

test('agents below have the schema of the nearest agent above, unless they have one themselves [state.schema]', () => {
  const own = agentOf({ name: 'own', stateSchema: z.object({ note: z.string() }) });
  const heir = agentOf({ name: 'heir' });
  const root = new SequentialAgent({ name: 'root', subAgents: [own, heir], stateSchema: SCHEMAS['zod 4'] });
  contextWith({ agent: own }).state.set('note', 'x');
  expect(() => contextWith({ agent: heir }).state.set('note', 'x')).toThrow(StateSchemaError);
  expect(() => contextWith({ agent: own }).state.set('city', 'x')).toThrow(StateSchemaError);
  expect(root.clone().stateSchema).toBe(SCHEMAS['zod 4']);
  contextWith({ agent: agentOf() }).state.set('anything', 1);
});

test('events of user code are checked, too [state.schema]', () => {
  const agent = agentOf({ stateSchema: SCHEMAS['zod 4'] });
  const eventOf = (stateDelta: Record<string, unknown>) => ({ actions: createEventActions({ stateDelta }) });
  const draft = (stateDelta: Record<string, unknown>) =>
    draftOf(eventOf(stateDelta), { invocationId: 'e-1', agent, branch: undefined });
  expect(draft({ city: 'Wien', 'user:x': 1 }).actions?.stateDelta).toEqual({ city: 'Wien', 'user:x': 1 });
  expect(() => draft({ city: 5 })).toThrow(StateSchemaError);
});

test('a state of one’s own takes a schema, as in ADK [state.schema]', () => {
  const state = new State({}, {}, z.object({ a: z.number() }));
  expect(() => state.set('a', 'x')).toThrow(StateSchemaError);
});

test.each([
  ['a number', 5, 'stateSchema: expected a schema'],
  ['a list', z.array(z.string()), 'stateSchema: the root must be an object'],
  ['a shape', { city: z.string() }, 'wrap it: z.object({…})'],
])('%s is no state schema [state.schema]', (_, stateSchema, problem) => {
  expect(() => agentOf({ stateSchema })).toThrow(problem);
});
