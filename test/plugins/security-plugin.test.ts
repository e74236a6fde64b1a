import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { createEvent, type Event } from '../../src/events/event.ts';
import {
  type BasePolicyEngine,
  getAskUserConfirmationFunctionCalls,
  PolicyOutcome,
  SecurityPlugin,
} from '../../src/plugins/security-plugin.ts';
import { questionsOf } from '../../src/tools/context.ts';
import { refusal } from '../definitions/refusal.ts';
import { callContextOf, charge } from './plugin-scene.ts';

const saying = (outcome: string): BasePolicyEngine => ({
  evaluate: async ({ toolArgs }) => {
    toolArgs.amount = 0;
    return { outcome, reason: 'dear' };
  },
});
const asks = async (policyEngine?: BasePolicyEngine, confirmed?: boolean) => {
  const toolConfirmation = confirmed === undefined ? {} : { toolConfirmation: { hint: '', confirmed } };
  const toolContext = callContextOf('c1', toolConfirmation);
  const toolArgs = { amount: 5 };
  const plugin = new SecurityPlugin(policyEngine === undefined ? {} : { policyEngine });
  const answer = await plugin.beforeToolCallback({ tool: charge, toolArgs, toolContext });
  expect(toolArgs).toEqual({ amount: 5 });
  expect(toolContext.actions.stateDelta).toEqual({});
  return { answer, asked: questionsOf(toolContext).asked };
};

describe('SecurityPlugin [confirm.default]', () => {
  test('lets calls run, refuses them, or has a person asked', async () => {
    expect(await asks()).toEqual({ answer: undefined, asked: undefined });
    expect(await asks(saying(PolicyOutcome.ALLOW))).toEqual({ answer: undefined, asked: undefined });
    expect((await asks(saying(PolicyOutcome.DENY))).answer).toEqual({
      error: 'This tool call is rejected by policy engine. Reason: dear',
    });
    expect(await asks(saying(PolicyOutcome.CONFIRM))).toEqual({
      answer: { partial: 'This tool call needs external confirmation before completion.' },
      asked: {
        kind: 'confirmation',
        hint: 'Policy engine requires confirmation calling tool: charge. Reason: dear',
      },
    });
  });

  test('what a policy says that nobody knows is a no', async () => {
    expect((await asks(saying('PERHAPS'))).answer).toMatchObject({ error: expect.any(String) });
  });

  test('does what the person has said', async () => {
    expect(await asks(saying(PolicyOutcome.CONFIRM), true)).toEqual({ answer: undefined, asked: undefined });
    expect(await asks(saying(PolicyOutcome.CONFIRM), false)).toEqual({
      answer: { error: 'Tool call rejected from confirmation flow.' },
      asked: undefined,
    });
  });

  test('refuses what is no policy engine', () => {
    const made = () => new SecurityPlugin({ policyEngine: {} as never });
    expect(refusal(made).message).toBe(
      'SecurityPlugin: policyEngine: expected an object with a function evaluate',
    );
  });

  test('requests in an event are found as in ADK [event.helpers]', () => {
    const call = { id: 'rq-1', name: 'adk_request_confirmation', args: {} };
    const parts = [{ text: 'x' }, { functionCall: call }, { functionCall: { ...call, name: 'pay' } }];
    const event: Event = createEvent({ content: { role: 'user', parts } });
    for (const each of [event, createEvent()]) {
      expect(getAskUserConfirmationFunctionCalls(each)).toEqual(
        adk.getAskUserConfirmationFunctionCalls(each as adk.Event),
      );
    }
  });
});
