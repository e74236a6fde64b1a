import { describe, expect, test } from 'vitest';
import { createEventActions } from '../../src/events/event-actions.ts';
import { callActionsOf } from '../../src/flows/call-actions.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';

const actionsOf = (given: object) => callActionsOf({ ...createEventActions(), ...given } as never);

describe('the actions of a call', () => {
  test('only those that do something are kept [turn.actions]', () => {
    expect(actionsOf({})).toEqual({});
    expect(actionsOf({ stateDelta: null, artifactDelta: undefined })).toEqual({});
    expect(actionsOf({ skipSummarization: false, escalate: false, transferToAgent: '' })).toEqual({});
    const all = {
      stateDelta: { cart: { a: 1 }, 'user:plan': null },
      artifactDelta: { 'invoice.pdf': 0 },
      skipSummarization: true,
      transferToAgent: 'billing',
      escalate: true,
    };
    expect(actionsOf(all)).toEqual(all);
  });

  test('state is kept as JSON carries it [turn.actions]', () => {
    const at = new Date(0);
    expect(actionsOf({ stateDelta: { at, gone: undefined } })).toEqual({
      stateDelta: { at: at.toISOString() },
    });
  });

  test.each<[string, object, string]>([
    ['text as state', { stateDelta: 'v1' }, 'context.actions.stateDelta: expected an object, got string'],
    ['a list as state', { stateDelta: [1] }, 'context.actions.stateDelta: expected an object, got array'],
    ['a function in the state', { stateDelta: { onPaid: () => 1 } }, 'onPaid: JSON has no function'],
    [
      'text as artifacts',
      { artifactDelta: 'v1' },
      'context.actions.artifactDelta: expected an object, got string',
    ],
    [
      'text as a version',
      { artifactDelta: { 'a.pdf': 'v1' } },
      'context.actions.artifactDelta["a.pdf"]: expected a whole number, got string',
    ],
    [
      'half a version',
      { artifactDelta: { 'a.pdf': 1.5 } },
      'context.actions.artifactDelta["a.pdf"]: expected a whole number',
    ],
    [
      'text as a flag',
      { skipSummarization: 'yes' },
      'context.actions.skipSummarization: expected true or false, got string',
    ],
    ['a number as a flag', { escalate: 1 }, 'context.actions.escalate: expected true or false'],
    [
      'an agent itself',
      { transferToAgent: { name: 'billing' } },
      'context.actions.transferToAgent: expected the name of an agent, got object',
    ],
  ])('%s is refused, named [tool.actions]', (_name, given, message) => {
    expect(() => actionsOf(given)).toThrow(InvalidResultError);
    expect(() => actionsOf(given)).toThrow(message);
  });
});
