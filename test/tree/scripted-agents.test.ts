import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { BaseAgent } from '../../src/agents/base-agent.ts';
import { CustomAgent, type NextOfAgent } from '../../src/agents/custom-agent.ts';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import type { RanAgent } from '../../src/protocol/agent-run.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { inTier } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

/** A ported agent that does what it is given. */
class Scripted extends BaseAgent {
  readonly #script: Script;

  constructor(subAgents: readonly LlmAgent[], script: Script) {
    super({ name: 'scripted', subAgents: [...subAgents] });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext) {
    return this.#script(context);
  }
}

const openEnvironment = shareEnvironment();
/** Turns go on as new runs early. */
const openBrief = shareEnvironment({ serverConfig: ['limit.historyCount.suggestContinueAsNew=10'] });

const open = (agent: BaseAgent) => TreeScene.open(openEnvironment, agent);

const said = async (opened: TreeScene) =>
  textsOf((await opened.events()).map(({ event }) => event.content ?? {}));

const own = (text: string, stateDelta: Record<string, unknown> = {}) =>
  createEvent({
    author: 'scripted',
    content: { role: 'model', parts: [{ text }] },
    actions: createEventActions({ stateDelta }),
  });

const pay = tool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  execute: (_args, { state }) => {
    state.set('paid', true);
    return { paid: true };
  },
});

describe('what a script decides by is what it was when it stood there [flow.custom]', () => {
  test('state that a sub-agent has written is there behind it, and not before', async () => {
    const writer = new Speaking('writer', ['A draft.'], { outputKey: 'draft' });
    const critic = new Speaking('critic', ['Well.']);
    const seen: unknown[][] = [];
    const opened = await open(
      new Scripted([writer.agent, critic.agent], async function* (context) {
        const drafts: unknown[] = [context.session.state.draft];
        seen.push(drafts);
        if (context.session.state.draft === undefined) yield* writer.agent.runAsync(context);
        drafts.push(context.session.state.draft);
        yield* critic.agent.runAsync(context);
        drafts.push(context.session.state.draft);
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'Well.' });
    expect(seen).toEqual([[undefined], [undefined, 'A draft.'], [undefined, 'A draft.', 'A draft.']]);
    // The next turn begins with it.
    expect(await opened.say('again')).toMatchObject({ status: 'completed' });
    expect(seen.at(-1)).toEqual(['A draft.', 'A draft.', 'A draft.']);
    expect([writer, critic].map(({ shown }) => shown.length)).toEqual([1, 2]);
  });

  test('a loop ends in the round in which it has ended', async () => {
    const writer = new Speaking('writer', ['One.', 'Two.']);
    const critic = new Speaking('critic', ['no', 'ok'], { outputKey: 'verdict' });
    const publisher = new Speaking('publisher', ['Published.']);
    const opened = await open(
      new Scripted([writer.agent, critic.agent, publisher.agent], async function* (context) {
        for (let round = 1; round <= 5; round += 1) {
          yield* writer.agent.runAsync(context);
          yield* critic.agent.runAsync(context);
          if (context.session.state.verdict === 'ok') break;
        }
        yield* publisher.agent.runAsync(context);
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'Published.' });
    expect(await said(opened)).toEqual(['go', 'One.', 'no', 'Two.', 'ok', 'Published.']);
  });

  test('events stand in the session once they are yielded, with what they change', async () => {
    const helper = new Speaking('helper', ['helped']);
    const seen: string[] = [];
    const opened = await open(
      new Scripted([helper.agent], async function* (context) {
        const look = () => `${context.session.events.length} ${context.session.state.phase}`;
        const looks = [look()];
        yield own('I begin.', { phase: 'begun' });
        looks.push(look());
        for await (const event of helper.agent.runAsync(context)) {
          looks.push(look());
          yield event;
          looks.push(look());
        }
        yield own('I end.', { phase: 'over' });
        looks.push(look());
        seen.push(looks.join(', '));
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'I end.' });
    expect(seen).toEqual(['1 undefined, 2 begun, 2 begun, 3 begun, 4 over']);
    expect((await opened.environment.store.sessions.get(opened.names))?.state).toMatchObject({
      phase: 'over',
    });
  });

  test('contents and calls are those that stand in the session by then', async () => {
    const look = tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) });
    const helper = new Speaking('helper', [calling({ name: 'look' }), 'helped'], { tools: [look] });
    const critic = new Speaking('critic', ['well']);
    const seen: string[] = [];
    const opened = await open(
      new Scripted([helper.agent, critic.agent], async function* (context) {
        const looks: string[] = [];
        const here = () => {
          const contents = context.contents({ agent: 'scripted', include: 'default' });
          const { turnToolCalls } = new ReadonlyContext(context);
          looks.push(`${contents.length} contents, ${turnToolCalls.length} calls`);
        };
        here();
        yield own('I begin.');
        here();
        yield* helper.agent.runAsync(context);
        here();
        yield* critic.agent.runAsync(context);
        here();
        seen.push(looks.join('; '));
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'well' });
    expect(seen).toEqual([
      '1 contents, 0 calls; 2 contents, 0 calls; 5 contents, 1 calls; 6 contents, 1 calls',
    ]);
  });

  test('temporary state of a sub-agent, too', async () => {
    const writes = tool({
      name: 'writes',
      description: 'd',
      execute: (_args, { state }) => {
        state.set('temp:found', 'much');
        return {};
      },
    });
    const finder = new Speaking('finder', [calling({ name: 'writes' }), 'found'], { tools: [writes] });
    const teller = new Speaking('teller', ['told']);
    const seen: unknown[][] = [];
    const opened = await open(
      new Scripted([finder.agent, teller.agent], async function* (context) {
        const found: unknown[] = [context.session.state['temp:found']];
        seen.push(found);
        yield* finder.agent.runAsync(context);
        found.push(context.session.state['temp:found']);
        yield* teller.agent.runAsync(context);
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'told' });
    expect(seen.at(-1)).toEqual([undefined, 'much']);
  });
});

describe('a script of any kind sees what is in the session [flow.custom]', () => {
  test('what it has said itself is what it said first, even by chance', async () => {
    const helper = new Speaking('helper', ['helped']);
    const other = new Speaking('other', ['helped, too']);
    const opened = await open(
      new Scripted([helper.agent, other.agent], async function* (context) {
        yield own('', { order: randomUUID() });
        yield* helper.agent.runAsync(context);
        yield* other.agent.runAsync(context);
        yield own(`Order ${context.session.state.order}`);
      }),
    );
    const { text } = await opened.say('go');
    const session = await opened.environment.store.sessions.get(opened.names);
    expect(text).toBe(`Order ${session?.state.order}`);
  });

  test('what it says of an event counts, not the event', async () => {
    const critic = new Speaking('critic', [' OK '], { outputKey: 'verdict' });
    const opened = await open(
      new Scripted([critic.agent], async function* (context) {
        for (let round = 1; round <= 3; round += 1) {
          for await (const event of critic.agent.runAsync(context)) {
            const verdict = String(event.actions.stateDelta.verdict).trim().toLowerCase();
            yield { ...event, actions: createEventActions({ stateDelta: { verdict } }) };
          }
          if (context.session.state.verdict === 'ok') return;
        }
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed' });
    expect(critic.shown).toHaveLength(1);
    expect((await opened.environment.store.sessions.get(opened.names))?.state.verdict).toBe('ok');
  });

  test('a sub-agent that it turns away from has run all the same', async () => {
    const writes = tool({
      name: 'writes',
      description: 'd',
      execute: (_args, { state }) => {
        state.set('temp:found', 'much');
        return {};
      },
    });
    const finder = new Speaking('finder', [calling({ name: 'writes' }), 'found'], {
      tools: [writes],
      outputKey: 'answer',
    });
    const opened = await open(
      new Scripted([finder.agent], async function* (context) {
        for await (const event of finder.agent.runAsync(context)) {
          yield event;
          break;
        }
        yield own(`${context.session.state['temp:found']}, ${context.session.state.answer}`);
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'much, found' });
  });

  test('it may speak between asking for a sub-agent and waiting for it', async () => {
    const helper = new Speaking('helper', ['helped']);
    const opened = await open(
      new Scripted([helper.agent], async function* (context) {
        const run = helper.agent.runAsync(context);
        const first = run.next();
        yield own('Asked.');
        const { value } = await first;
        if (value) yield value;
        yield* run;
        yield own('Done.');
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await said(opened)).toEqual(['go', 'Asked.', 'helped', 'Done.']);
  });
});

describe('a script that does something else than before fails its turn, which says what [flow.custom]', () => {
  const HINT = 'must decide the same each time';

  test('where it ends before a sub-agent that has run', async () => {
    const helper = new Speaking('helper', ['helped']);
    let begun = 0;
    const opened = await open(
      new Scripted([helper.agent], async function* (context) {
        begun += 1;
        if (begun === 1) yield* helper.agent.runAsync(context);
      }),
    );
    const { status, error } = await opened.say('go');
    expect({ status, code: error?.code }).toEqual({
      status: 'failed',
      code: 'HOLDFAST_CUSTOM_AGENT_DIVERGED',
    });
    expect(error?.message).toMatch(/"scripted" ends, and has run "helper" as its sub-agent number 1 before/);
    expect(error?.message).toContain(HINT);
  });

  test('where it says more, or less', async () => {
    const helper = new Speaking('helper', ['helped']);
    let begun = 0;
    const opened = await open(
      new Scripted([helper.agent], async function* (context) {
        begun += 1;
        for (let nth = 0; nth < begun; nth += 1) yield own(`pass ${nth}`);
        yield* helper.agent.runAsync(context);
      }),
    );
    const { status, error } = await opened.say('go');
    expect({ status, code: error?.code }).toEqual({
      status: 'failed',
      code: 'HOLDFAST_CUSTOM_AGENT_DIVERGED',
    });
    expect(error?.message).toMatch(
      /yields 2 events of its own before its sub-agent number 1, and has yielded 1/,
    );
  });
});

describe('a sub-agent that fails [flow.custom]', () => {
  const failing = () => new Speaking('failing', [{ errorCode: 'SAFETY', errorMessage: 'no' }]);

  test('throws at the script, which may go on', async () => {
    const first = failing();
    const second = new Speaking('second', ['instead']);
    const opened = await open(
      new Scripted([first.agent, second.agent], async function* (context) {
        try {
          yield* first.agent.runAsync(context);
        } catch (error) {
          yield own(error instanceof Error ? error.name : 'nothing');
          yield* second.agent.runAsync(context);
        }
      }),
    );
    expect(await opened.say('go')).toMatchObject({ status: 'completed', text: 'instead' });
    expect(await said(opened)).toContain('SubAgentFailed');
  });

  test('fails the turn of one that does not', async () => {
    const first = failing();
    const opened = await open(
      new Scripted([first.agent], async function* (context) {
        yield* first.agent.runAsync(context);
      }),
    );
    const { status, error } = await opened.say('go');
    expect(status).toBe('failed');
    expect(error?.message).toContain('failed to run sub-agent "failing": no');
  });
});

/** Pays, then thanks: in a script, and step by step. */
const orchestrators = {
  'a ported agent': (payer: LlmAgent, thanker: LlmAgent) =>
    new Scripted([payer, thanker], async function* (context) {
      yield own('I begin.');
      yield* payer.runAsync(context);
      if (context.session.state.paid === true) yield* thanker.runAsync(context);
      yield own('I end.');
    }),
  'a custom agent': (payer: LlmAgent, thanker: LlmAgent) =>
    new (class extends CustomAgent<{ step: number }> {
      constructor() {
        super({ name: 'scripted', subAgents: [payer, thanker] });
      }
      override next(
        context: Context,
        state: { step: number } | undefined,
        _ran: readonly RanAgent[],
      ): NextOfAgent<{ step: number }> {
        const { step = 0 } = state ?? {};
        if (step === 0) return { run: payer, state: { step: 1 } };
        if (step === 1 && context.state.get('paid') === true) return { run: thanker, state: { step: 2 } };
        return { done: [own('I end.')] };
      }
    })(),
};

// adk-python #3986: a turn that was resumed went to the sub-agent, and nobody asked the orchestrator again.
describe('an orchestrator is asked again, whatever happened meanwhile [flow.custom]', () => {
  const speakers = () => ({
    payer: new Speaking('payer', [calling({ name: 'pay' }), 'paid'], { tools: [pay] }),
    thanker: new Speaking('thanker', ['Thanks.']),
  });

  test.each(Object.entries(orchestrators).slice(0, inTier(1, 2)))(
    '%s whose worker was restarted while a sub-agent asked people',
    async (_kind, make) => {
      const { payer, thanker } = speakers();
      const opened = await open(make(payer.agent, thanker.agent));
      const turn = await opened.send();
      const [request] = await opened.pending(1);
      await opened.environment.restartWorker();
      const { requestId = '' } = request ?? {};
      await opened.environment.client.approvals.confirm({ ...opened.names, requestId }, { confirmed: true });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'I end.' });
      expect((await said(opened)).slice(-3)).toEqual(['paid', 'Thanks.', 'I end.']);
      expect([payer, thanker].map(({ shown }) => shown.length)).toEqual([2, 1]);
    },
  );

  test.each(Object.entries(orchestrators).slice(0, inTier(0, 2)))(
    '%s whose workflow and those below went on as new runs',
    async (_kind, make) => {
      const { payer, thanker } = speakers();
      const opened = await TreeScene.open(openBrief, make(payer.agent, thanker.agent));
      const turn = await opened.send();
      const [request] = await opened.pending(1);
      const { requestId = '' } = request ?? {};
      await opened.environment.client.approvals.confirm({ ...opened.names, requestId }, { confirmed: true });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'I end.' });
      expect((await said(opened)).slice(-3)).toEqual(['paid', 'Thanks.', 'I end.']);
      const { raw } = await opened.root.describe();
      expect(raw.workflowExecutionInfo?.firstRunId).not.toBe(raw.workflowExecutionInfo?.execution?.runId);
    },
  );
});
