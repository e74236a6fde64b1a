import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import type { RanTurn, TurnEnvironment } from '../setup/turn-environment.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function run(caller: Speaking, more: Parameters<TurnEnvironment['run']>[0] = { message: 'go' }) {
  const { store, temporal, run } = await openEnvironment({ agents: [caller.agent] });
  return { store, temporal, ...(await run(more)) };
}

const ask = (name: string, args: Record<string, unknown> = { request: 'why?' }) => calling({ name, args });

function responsesOf({ events }: Pick<RanTurn, 'events'>): unknown[] {
  return events.flatMap(({ event }) =>
    (event.content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
}

describe('an agent as a tool [agentTool.run]', () => {
  test('is asked what the call says, in a session of its own; its last text is the result', async () => {
    const librarian = new Speaking('librarian', ['in the cellar'], { instruction: 'Find books.' });
    const editor = new Speaking('editor', [ask('librarian', { request: 'where?' }), 'There.'], {
      tools: [new AgentTool({ agent: librarian.agent })],
    });
    const ran = await run(editor);
    expect(ran.result).toMatchObject({ status: 'completed', text: 'There.', usage: { modelCalls: 3 } });
    expect(librarian.shown).toEqual([[{ role: 'user', parts: [{ text: 'where?' }] }]]);
    expect(librarian.told[0]).toContain('Find books.');
    expect(responsesOf(ran)).toEqual([{ result: 'in the cellar' }]);
    expect(ran.events.map(({ event }) => event.author)).toEqual(['user', 'editor', 'editor', 'editor']);
  });

  test('begins afresh with each call, with all of its tools and no others', async () => {
    const own = tool({ name: 'own', description: 'd', execute: () => ({ own: true }) });
    const librarian = new Speaking(
      'librarian',
      [calling({ name: 'own' }, { name: 'secret' }), 'first', 'second'],
      { tools: [own] },
    );
    const secret = tool({ name: 'secret', description: 'd', execute: () => ({ secret: true }) });
    const editor = new Speaking(
      'editor',
      [ask('librarian', { request: 'one' }), ask('librarian', { request: 'two' }), 'done'],
      { tools: [new AgentTool({ agent: librarian.agent }), secret] },
    );
    const ran = await run(editor);
    expect(responsesOf(ran)).toEqual([{ result: 'first' }, { result: 'second' }]);
    expect(textsOf(librarian.shown[2])).toEqual(['two']);
    const answered = (librarian.shown[1] ?? []).flatMap(({ parts = [] }) =>
      parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []),
    );
    expect(answered).toEqual([{ own: true }, { error: expect.stringMatching(/'secret' not found/) }]);
  });

  test('answers nothing where it has said nothing, and the lines of its last event without thoughts', async () => {
    const silent = new Speaking('silent', [
      { content: { role: 'model', parts: [{ text: 'hm', thought: true }] } },
    ]);
    const talker = new Speaking('talker', [
      {
        content: { role: 'model', parts: [{ text: 'hm', thought: true }, { text: 'one' }, { text: 'two' }] },
      },
    ]);
    const asked = calling(
      { name: 'silent', args: { request: 'a' } },
      { name: 'talker', args: { request: 'b' } },
    );
    const editor = new Speaking('editor', [asked, 'done'], {
      tools: [silent, talker].map(({ agent }) => new AgentTool({ agent })),
    });
    expect(responsesOf(await run(editor))).toEqual([{}, { result: 'one\ntwo' }]);
  });

  test('may be any agent: of those that run others it is the last answer', async () => {
    const first = new Speaking('first', ['a draft'], { outputKey: 'draft' });
    const second = new Speaking('second', ['the text'], { instruction: 'Mend {draft}.' });
    const both = new SequentialAgent({ name: 'both', subAgents: [first.agent, second.agent] });
    const editor = new Speaking('editor', [ask('both'), 'done'], { tools: [new AgentTool({ agent: both })] });
    const ran = await run(editor);
    expect(responsesOf(ran)).toEqual([{ result: 'the text' }]);
    expect(second.told[0]).toContain('Mend a draft.');
    expect(textsOf(second.shown[0])).toEqual(['why?', 'For context:', '[first] said: a draft']);
  });

  test('has its callbacks asked once, before and behind the agent, by what the arguments and the answer have become', async () => {
    const heard: unknown[] = [];
    const librarian = new Speaking('librarian', ['in the cellar']);
    const editor = new Speaking('editor', [ask('librarian', { request: 'where?' }), 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
      beforeToolCallback: ({ tool: { name }, args }) => {
        heard.push(['before', name, { ...args }]);
        args.request = 'where, please?';
        return undefined;
      },
      afterToolCallback: ({ tool: { name }, args, response }) => {
        heard.push(['after', name, { ...args }, response]);
        return { ...response, checked: true };
      },
    });
    const ran = await run(editor);
    expect(heard).toEqual([
      ['before', 'librarian', { request: 'where?' }],
      ['after', 'librarian', { request: 'where, please?' }, { result: 'in the cellar' }],
    ]);
    expect(textsOf(librarian.shown[0])).toEqual(['where, please?']);
    expect(responsesOf(ran)).toEqual([{ result: 'in the cellar', checked: true }]);
  });

  test('is not run where a callback before it has the answer', async () => {
    const librarian = new Speaking('librarian', ['in the cellar']);
    const editor = new Speaking('editor', [ask('librarian'), 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
      beforeToolCallback: () => ({ result: 'closed' }),
    });
    expect(responsesOf(await run(editor))).toEqual([{ result: 'closed' }]);
    expect(librarian.shown).toEqual([]);
  });

  test('several of one step run at the same time, one agent twice too', async () => {
    let running = 0;
    const all = Promise.withResolvers<void>();
    const librarian = new Speaking('librarian', [
      async () => {
        running += 1;
        if (running === 2) all.resolve();
        await all.promise;
        return { content: { role: 'model', parts: [{ text: 'found' }] } };
      },
    ]);
    const twice = calling(
      { name: 'librarian', args: { request: 'a' } },
      { name: 'librarian', args: { request: 'b' } },
    );
    const editor = new Speaking('editor', [twice, 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
    });
    expect(responsesOf(await run(editor))).toEqual([{ result: 'found' }, { result: 'found' }]);
    expect(librarian.shown.map((contents) => textsOf(contents)[0]).toSorted()).toEqual(['a', 'b']);
  });

  if (isDeep) {
    test('that has itself for a tool ends at a depth, with an answer that says so', async () => {
      class Itself extends BaseToolset {
        override async getTools() {
          return [new AgentTool({ agent: again.agent })];
        }
        override async close() {}
      }
      const again: Speaking = new Speaking(
        'again',
        [({ contents }) => (JSON.stringify(contents).includes('functionResponse') ? 'enough' : ask('again'))],
        { tools: [new Itself()] },
      );
      const ran = await run(again);
      expect(ran.result).toMatchObject({ status: 'completed', text: 'enough' });
      expect(again.shown.length).toBeLessThanOrEqual(32);
      const deepest = again.shown
        .map((contents) => JSON.stringify(contents))
        .find((text) => text.includes('error'));
      expect(deepest).toMatch(/at most 16/);
    });
  }
});

describe('its schemas [agentTool.schema]', () => {
  test('the arguments are the message, as JSON; the answer is what the output schema makes of it', async () => {
    const librarian = new Speaking('librarian', ['{"books":["Emma"]}'], {
      inputSchema: z.object({ topic: z.string() }),
      outputSchema: z.object({ books: z.array(z.string()) }),
    });
    const editor = new Speaking('editor', [ask('librarian', { topic: 'love' }), 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
    });
    expect(responsesOf(await run(editor))).toEqual([{ books: ['Emma'] }]);
    expect(textsOf(librarian.shown[0])).toEqual(['{"topic":"love"}']);
  });

  test('what the input schema refuses, and a missing request, is an answer, and no agent runs', async () => {
    const strict = new Speaking('strict', ['never'], { inputSchema: z.object({ topic: z.string() }) });
    const plain = new Speaking('plain', ['never']);
    const asked = calling({ name: 'strict', args: { topic: 3 } }, { name: 'plain', args: { query: 'x' } });
    const editor = new Speaking('editor', [asked, 'done'], {
      tools: [strict, plain].map(({ agent }) => new AgentTool({ agent })),
    });
    expect(responsesOf(await run(editor))).toEqual([
      { error: expect.stringMatching(/Error in tool 'strict': invalid arguments: .*topic/) },
      { error: "missing required argument 'request' for agent plain" },
    ]);
    expect([...strict.shown, ...plain.shown]).toEqual([]);
  });

  test('a request that is no text is told as text', async () => {
    const plain = new Speaking('plain', ['fine']);
    const asked = calling(
      { name: 'plain', args: { request: 42 } },
      { name: 'plain', args: { request: { a: [1] } } },
    );
    const editor = new Speaking('editor', [asked, 'done'], {
      tools: [new AgentTool({ agent: plain.agent })],
    });
    await run(editor);
    expect(plain.shown.map((contents) => textsOf(contents)[0]).toSorted()).toEqual(['42', '{"a":[1]}']);
  });

  test('an answer that its schema refuses is an error [agentTool.errors]', async () => {
    const librarian = new Speaking('librarian', ['no JSON'], { outputSchema: z.object({ n: z.number() }) });
    const editor = new Speaking('editor', [ask('librarian'), 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
    });
    expect(responsesOf(await run(editor))).toEqual([
      {
        error:
          'error from sub-agent "librarian" (code: "HOLDFAST_INVALID_RESULT", message: "its answer doesn\'t match its outputSchema: it is no JSON")',
      },
    ]);
  });
});

describe('its state [agentTool.state]', () => {
  test('begins as that of its caller, without reserved keys, and what it has written comes back', async () => {
    const seen: Record<string, unknown>[] = [];
    const work = tool({
      name: 'work',
      description: 'd',
      execute: (_args, { state }) => {
        seen.push(state.toRecord());
        for (const key of ['own', 'temp:own', 'user:own', '_adk_own']) state.set(key, 'written');
        return {};
      },
    });
    const librarian = new Speaking('librarian', [calling({ name: 'work' }), 'done'], {
      tools: [work],
      outputKey: 'found',
    });
    const editor = new Speaking('editor', [ask('librarian'), 'done'], {
      tools: [new AgentTool({ agent: librarian.agent })],
      instruction: 'OWN<{own?}|{temp:own?}|{user:own?}|{found?}>',
    });
    const ran = await run(editor, {
      message: 'go',
      sessionId: 'of-state',
      stateDelta: { own: 'old', kept: 1, 'user:name': 'Ada', 'temp:page': 3, _adk_x: 1 },
    });
    expect(ran.result.status).toBe('completed');
    expect(seen).toEqual([{ own: 'old', kept: 1, 'user:name': 'Ada', 'temp:page': 3 }]);
    expect(editor.told[1]).toContain('OWN<written||written|done>');
    const session = await ran.store.sessions.get({
      app: 'test',
      userId: 'ada',
      sessionId: 'of-state',
    });
    expect(session?.state).toMatchObject({
      own: 'written',
      kept: 1,
      found: 'done',
      'user:own': 'written',
      _adk_x: 1,
    });
  });

  test('written by several at the same time, nothing is lost', async () => {
    const names = ['a', 'b', 'c'];
    const speaking = names.map((name) => new Speaking(name, [`from ${name}`], { outputKey: name }));
    const asked = calling(...names.map((name) => ({ name, args: { request: 'x' } })));
    const editor = new Speaking('editor', [asked, 'done'], {
      tools: speaking.map(({ agent }) => new AgentTool({ agent })),
      instruction: 'ALL<{a?}|{b?}|{c?}>',
    });
    await run(editor);
    expect(editor.told[1]).toContain('ALL<from a|from b|from c>');
  });
});

describe('its end', () => {
  test('is the caller’s too where it skips the summary [agentTool.skip]', async () => {
    const librarian = new Speaking('librarian', ['in the cellar']);
    const editor = new Speaking('editor', [ask('librarian'), 'never'], {
      tools: [new AgentTool({ agent: librarian.agent, skipSummarization: true })],
    });
    const ran = await run(editor);
    expect(ran.result).toMatchObject({ status: 'completed' });
    expect(editor.shown).toHaveLength(1);
    expect(ran.events.at(-1)?.event.actions).toMatchObject({ skipSummarization: true });
  });

  test('a failure is told with its code and message, as often as it may be tried [agentTool.errors]', async () => {
    const failing = new Speaking('failing', [{ errorCode: 'SAFETY', errorMessage: 'it must not be said' }]);
    const moody = new Speaking('moody', [{ errorCode: 'SAFETY', errorMessage: 'no' }, 'well then']);
    const asked = calling(
      { name: 'failing', args: { request: 'a' } },
      { name: 'moody', args: { request: 'b' } },
    );
    const editor = new Speaking('editor', [asked, 'done'], {
      tools: [
        new AgentTool({ agent: failing.agent, skipSummarization: true }),
        new AgentTool({ agent: moody.agent, attempts: 2 }),
      ],
    });
    const ran = await run(editor);
    expect(responsesOf(ran)).toEqual([
      { error: 'error from sub-agent "failing" (code: "SAFETY", message: "it must not be said")' },
      { result: 'well then' },
    ]);
    expect([failing, moody].map(({ shown }) => shown.length)).toEqual([1, 2]);
    expect(moody.shown[1]).toEqual(moody.shown[0]);
    expect(ran.result).toMatchObject({ status: 'completed', text: 'done' });
  });

  if (isDeep) {
    test('comes when its time is up, over all attempts [agentTool.errors]', async () => {
      const slow = new Speaking('slow', [() => new Promise(() => undefined)]);
      const editor = new Speaking('editor', [ask('slow'), 'done'], {
        tools: [new AgentTool({ agent: slow.agent, attempts: 5, timeout: '1 second' })],
      });
      const ran = await run(editor);
      expect(responsesOf(ran)).toEqual([
        { error: expect.stringMatching(/^error from sub-agent "slow" \(code: "HOLDFAST_AGENT_TIMED_OUT"/) },
      ]);
      expect(slow.shown.length).toBeLessThanOrEqual(1);
      const open = async () => {
        const ids: string[] = [];
        for await (const { workflowId, status } of ran.temporal.workflow.list()) {
          if (workflowId.startsWith(ran.workflowId) && status.name === 'RUNNING') ids.push(workflowId);
        }
        return ids;
      };
      // The list comes a moment behind the runs.
      await expect.poll(open).toEqual([]);
    });
  }

  test('comes when its budget is used up, and what it has used is its caller’s too [tree.budget]', async () => {
    const nothing = tool({ name: 'nothing', description: 'd', execute: () => ({}) });
    const busy = new Speaking('busy', [calling({ name: 'nothing' })], { tools: [nothing] });
    const editor = new Speaking('editor', [ask('busy'), 'done'], {
      tools: [new AgentTool({ agent: busy.agent, budget: { modelCalls: 2 } })],
    });
    const ran = await run(editor);
    expect(busy.shown).toHaveLength(2);
    expect(responsesOf(ran)).toEqual([
      { error: expect.stringMatching(/^error from sub-agent "busy" \(code: "[A-Z_]*BUDGET/) },
    ]);
    expect(ran.result).toMatchObject({ status: 'completed', usage: { modelCalls: 4 } });
  });

  test('comes with that of its caller: what is left of the caller’s calls is all that it has [tree.budget]', async () => {
    const nothing = tool({ name: 'nothing', description: 'd', execute: () => ({}) });
    const busy = new Speaking('busy', [calling({ name: 'nothing' })], { tools: [nothing] });
    const editor = new Speaking('editor', [ask('busy'), 'never'], {
      tools: [new AgentTool({ agent: busy.agent })],
    });
    const ran = await run(editor, { message: 'go', runConfig: { maxLlmCalls: 4 } });
    expect(busy.shown).toHaveLength(3);
    expect(editor.shown).toHaveLength(1);
    expect(ran.result).toMatchObject({ status: 'failed', error: { code: 'LLM_CALLS_LIMIT_EXCEEDED' } });
  });
});
