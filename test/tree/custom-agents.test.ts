import { expect, test } from 'vitest';
import { BaseAgent } from '../../src/agents/base-agent.ts';
import { CustomAgent, type NextOfAgent } from '../../src/agents/custom-agent.ts';
import { createEvent } from '../../src/events/event.ts';
import type { RanAgent } from '../../src/protocol/agent-run.ts';
import type { Context } from '../../src/tools/context.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function run(agent: BaseAgent) {
  const environment = await openEnvironment({ agents: [agent] });
  return await environment.run({ message: 'go' });
}

test('an agent decides by a function what runs next, and remembers [flow.custom]', async () => {
  const clerk = new Speaking('clerk', ['I don’t know.', 'Still not.']);
  const expert = new Speaking('expert', ['It is 42.']);
  const seen: (readonly RanAgent[])[] = [];
  class Desk extends CustomAgent<{ tried: number }> {
    constructor() {
      super({ name: 'desk', subAgents: [clerk.agent, expert.agent] });
    }
    override next(
      context: Context,
      state: { tried: number } | undefined,
      ran: readonly RanAgent[],
    ): NextOfAgent<{ tried: number }> {
      seen.push(ran);
      const { tried = 0 } = state ?? {};
      context.state.set('tried', tried);
      if (tried === 3)
        return {
          done: [createEvent({ author: 'desk', content: { role: 'model', parts: [{ text: 'closed' }] } })],
        };
      return { run: tried < 2 ? clerk.agent : expert.agent, state: { tried: tried + 1 } };
    }
  }
  const { result, events } = await run(new Desk());
  expect(result).toMatchObject({ status: 'completed', text: 'closed', usage: { modelCalls: 3 } });
  expect(seen.map((ran) => ran.map(({ name, status }) => `${name} ${status}`))).toEqual([
    [],
    ['clerk completed'],
    ['clerk completed'],
    ['expert completed'],
  ]);
  expect(textsOf(events.map(({ event }) => event.content ?? {}))).toEqual([
    'go',
    'I don’t know.',
    'Still not.',
    'It is 42.',
    'closed',
  ]);
});

test('several at once, of which one may fail [flow.custom]', async () => {
  const one = new Speaking('one', ['fine']);
  const two = new Speaking('two', [{ errorCode: 'SAFETY', errorMessage: 'no' }]);
  class Both extends CustomAgent {
    constructor() {
      super({ name: 'both', subAgents: [one.agent, two.agent] });
    }
    override next(_context: Context, _state: unknown, ran: readonly RanAgent[]): NextOfAgent {
      if (ran.length === 0) return { run: [one.agent, two.agent] };
      const text = ran
        .map(({ name, status }) => `${name} ${status}`)
        .toSorted()
        .join(', ');
      return { done: [createEvent({ content: { role: 'model', parts: [{ text }] } })] };
    }
  }
  const { result } = await run(new Both());
  expect(result).toMatchObject({ status: 'completed', text: 'one completed, two failed' });
});

test.each([
  ['more than may run at once', 101, 'run: expected at most 100 agents, got 101'],
  ['one twice at once, which would see what the other says', 2, 'run[1]: one is there already'],
])('is told so where it gives %s [flow.custom]', async (_what, count, problem) => {
  const one = new Speaking('one', ['fine']);
  class Crowd extends CustomAgent {
    constructor() {
      super({ name: 'crowd', subAgents: [one.agent] });
    }
    override next(_context: Context, _state: unknown, ran: readonly RanAgent[]): NextOfAgent {
      return ran.length > 0 ? { done: [] } : { run: Array.from({ length: count }, () => one.agent) };
    }
  }
  const { result } = await run(new Crowd());
  expect(result).toMatchObject({ status: 'failed', error: { message: expect.stringContaining(problem) } });
  expect(one.shown).toEqual([]);
});

test('an agent of ADK runs as it is: what has run is not run again [flow.custom]', async () => {
  const answerer = new Speaking('answerer', ['Ja.']);
  const translator = new Speaking('translator', ['Yes.']);
  let begun = 0;
  class Translated extends BaseAgent {
    constructor() {
      super({ name: 'translated', subAgents: [answerer.agent, translator.agent] });
    }
    protected override async *runAsyncImpl(context: InvocationContext) {
      begun += 1;
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'I ask.' }] } });
      const said: string[] = [];
      for await (const event of answerer.agent.runAsync(context)) {
        said.push(...textsOf(event.content === undefined ? [] : [event.content]));
        yield event;
      }
      if (said.includes('Ja.')) yield* translator.agent.runAsync(context);
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'Done.' }] } });
    }
  }
  const { result, events } = await run(new Translated());
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(textsOf(events.map(({ event }) => event.content ?? {}))).toEqual([
    'go',
    'I ask.',
    'Ja.',
    'Yes.',
    'Done.',
  ]);
  expect([answerer, translator].map(({ shown }) => shown.length)).toEqual([1, 1]);
  expect(begun).toBe(3);
});

test('an agent of ADK that runs another one than before fails the turn, naming both [flow.custom]', async () => {
  const one = new Speaking('one', ['1']);
  const two = new Speaking('two', ['2']);
  let begun = 0;
  class Fickle extends BaseAgent {
    constructor() {
      super({ name: 'fickle', subAgents: [one.agent, two.agent] });
    }
    protected override async *runAsyncImpl(context: InvocationContext) {
      begun += 1;
      yield* (begun === 1 ? one : two).agent.runAsync(context);
    }
  }
  const { result } = await run(new Fickle());
  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'HOLDFAST_CUSTOM_AGENT_DIVERGED', message: expect.stringMatching(/"two".*"one"/) },
  });
});
