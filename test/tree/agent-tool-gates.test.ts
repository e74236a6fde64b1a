import { describe, expect, test } from 'vitest';
import { AgentTool, type AgentToolConfig } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();
const open = (agent: BaseAgent) => TreeScene.open(openEnvironment, agent);

/** A payer behind a tool of an editor's, and how often it has paid. */
function desk(ofTool: Omit<AgentToolConfig, 'agent'>, isInsideGated: boolean) {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'd',
    ...(isInsideGated ? { requireConfirmation: true as const } : {}),
    execute: () => {
      paid.push(1);
      return { paid: true };
    },
  });
  const payer = new Speaking('payer', [calling({ name: 'pay' }), 'It is paid.'], { tools: [pay] });
  const heard: string[] = [];
  const editor = new Speaking('editor', [calling({ name: 'payer', args: { request: 'pay 3' } }), 'Done.'], {
    tools: [new AgentTool({ agent: payer.agent, ...ofTool })],
    beforeToolCallback: ({ tool: { name } }) => void heard.push(`before ${name}`),
    afterToolCallback: ({ tool: { name } }) => void heard.push(`after ${name}`),
  });
  return { editor, payer, paid, heard };
}

describe('a person decides on an agent that is a tool [agentTool.gates]', () => {
  test('before it runs', async () => {
    const { editor, payer, paid, heard } = desk({ requireConfirmation: true }, false);
    const { environment, names, pending, send, responses } = bound(await open(editor.agent));
    const turn = await send();
    const [request] = await pending(1);
    expect(request).toMatchObject({ tool: 'payer', agent: 'editor' });
    expect(payer.shown).toEqual([]);
    const { requestId = '' } = request ?? {};
    await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await responses()).toEqual([{ name: 'payer', response: { result: 'It is paid.' } }]);
    expect([paid.length, payer.shown.length]).toEqual([1, 2]);
    expect(heard).toEqual(['before payer', 'after payer']);
  });

  test('and it never runs where they say no', async () => {
    const { editor, payer } = desk({ requireConfirmation: true }, false);
    const { environment, names, pending, send, responses, below } = bound(await open(editor.agent));
    const turn = await send();
    const [request] = await pending(1);
    const { requestId = '' } = request ?? {};
    await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: false });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(JSON.stringify(await responses())).toMatch(/reject/);
    expect(payer.shown).toEqual([]);
    expect(await below()).toEqual([]);
  });

  test('inside of it, and the answer that comes of it is the caller’s: nothing is swallowed, adk-python #7245', async () => {
    const { editor, payer, paid, heard } = desk({}, true);
    const { environment, names, pending, send, responses } = bound(await open(editor.agent));
    const turn = await send();
    const [request] = await pending(1);
    expect(request).toMatchObject({ tool: 'pay', agent: 'payer', path: ['editor', 'payer'] });
    expect(request?.sessionId).toBe(names.sessionId);
    expect(paid).toEqual([]);
    const { requestId = '' } = request ?? {};
    await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await responses()).toEqual([{ name: 'payer', response: { result: 'It is paid.' } }]);
    expect([paid.length, payer.shown.length, editor.shown.length]).toEqual([1, 2, 2]);
    expect(heard).toEqual(['before payer', 'after payer']);
  });

  test('before it and inside of it: each once', async () => {
    const { editor, payer, paid, heard } = desk({ requireConfirmation: true }, true);
    const { environment, names, pending, send } = bound(await open(editor.agent));
    const turn = await send();
    for (const called of ['payer', 'pay']) {
      await expect.poll(async () => (await pending(1))[0]?.tool).toBe(called);
      const [{ requestId } = { requestId: '' }] = await pending(1);
      await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
      if (called === 'payer') await expect.poll(() => payer.shown.length).toBe(1);
    }
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect([paid.length, payer.shown.length]).toEqual([1, 2]);
    expect(heard).toEqual(['before payer', 'after payer']);
  });

  if (isDeep) {
    test('with a worker that is gone meanwhile: it isn’t run again, nor is what it has done', async () => {
      const done: unknown[] = [];
      const note = tool({ name: 'note', description: 'd', execute: () => ({ noted: done.push(1) }) });
      const pay = tool({
        name: 'pay',
        description: 'd',
        requireConfirmation: true,
        execute: () => ({ paid: true }),
      });
      const payer = new Speaking(
        'payer',
        [calling({ name: 'note' }), calling({ name: 'pay' }), 'It is paid.'],
        {
          tools: [note, pay],
        },
      );
      const editor = new Speaking('editor', [calling({ name: 'payer', args: { request: 'pay' } }), 'Done.'], {
        tools: [new AgentTool({ agent: payer.agent })],
      });
      const { environment, names, pending, send } = bound(await open(editor.agent));
      const turn = await send();
      const [request] = await pending(1);
      await environment.restartWorker();
      const { requestId = '' } = request ?? {};
      await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
      expect([done.length, payer.shown.length, editor.shown.length]).toEqual([1, 3, 2]);
    });
  }
});

describe('where ADK is known to lose what a tree of agents does', () => {
  test('`temp:` state of a step is there in the next one, adk-python #4564 [flow.temp]', async () => {
    const first = new Speaking('first', ['a draft'], { outputKey: 'temp:draft' });
    const second = new Speaking('second', ['mended'], { instruction: 'MEND<{temp:draft}>' });
    const root = new SequentialAgent({ name: 'root', subAgents: [first.agent, second.agent] });
    const { environment, names, send } = bound(await open(root));
    expect(await (await send()).result()).toMatchObject({ status: 'completed' });
    expect(second.told[0]).toContain('MEND<a draft>');
    expect((await environment.store.sessions.get(names))?.state).toEqual({});
  });

  if (isDeep) {
    test('steps that have ended don’t run again once a later one is approved, adk-python #6198 [flow.resume]', async () => {
      const pay = tool({
        name: 'pay',
        description: 'd',
        requireConfirmation: true,
        execute: () => ({ paid: true }),
      });
      const first = new Speaking('first', ['first']);
      const second = new Speaking('second', [calling({ name: 'pay' }), 'paid'], { tools: [pay] });
      const third = new Speaking('third', ['third']);
      const root = new SequentialAgent({
        name: 'root',
        subAgents: [first.agent, second.agent, third.agent],
      });
      const { environment, names, pending, send } = bound(await open(root));
      const turn = await send();
      const [request] = await pending(1);
      const { requestId = '' } = request ?? {};
      await environment.client.approvals.confirm({ ...names, requestId }, { confirmed: true });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'third' });
      expect([first, second, third].map(({ shown }) => shown.length)).toEqual([1, 2, 1]);
    });
  }

  if (isDeep) {
    test('an agent that is asked again in one session begins afresh, adk-js #294 [agentTool.run]', async () => {
      const librarian = new Speaking('librarian', ['one', 'two']);
      const editor = new Speaking(
        'editor',
        [calling({ name: 'librarian', args: { request: 'first' } }), 'Done.'],
        { tools: [new AgentTool({ agent: librarian.agent })] },
      );
      const scene = bound(await open(editor.agent));
      await (await scene.send()).result();
      editor.replies = ['', '', calling({ name: 'librarian', args: { request: 'second' } }), 'Done.'];
      expect(await (await scene.send('again')).result()).toMatchObject({ status: 'completed' });
      expect(librarian.shown.map((contents) => textsOf(contents))).toEqual([['first'], ['second']]);
    });
  }
});

/** Its methods by themselves. */
function bound(of: TreeScene) {
  const { environment, names } = of;
  return {
    environment,
    names,
    send: (message?: string) => of.send(message),
    pending: (count: number) => of.pending(count),
    responses: () => of.responses(),
    below: () => of.below(),
  };
}
