import { afterEach, describe, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const openEnvironment = shareEnvironment();

let scene: TreeScene;
let paid: string[] = [];
let told: string[] = [];
afterEach(() => {
  paid = [];
  told = [];
});

async function open(agent: BaseAgent): Promise<void> {
  scene = await TreeScene.open(openEnvironment, agent);
}

const pay = () =>
  tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    execute: (_args, { callKey }) => {
      paid.push(callKey);
      return { paid: true };
    },
  });

const report = () =>
  tool({
    name: 'report',
    description: 'd',
    isLongRunning: true,
    execute: (_args, { job }) => {
      told.push(`began ${job.id}`);
    },
    cancel: ({ id }) => void told.push(`cancel ${id}`),
  });

const paying = (name: string) =>
  new Speaking(name, [calling({ name: 'pay' }), `${name} has paid`], { tools: [pay()] });
const saying = (name: string) => new Speaking(name, [`${name} is fine`]);

describe('a turn that is cancelled', () => {
  test('ends each agent below it as cancelled, and tells those who do its jobs [tree.cancel]', async () => {
    const held = new HeldTool();
    const agents = [
      paying('asking').agent,
      new Speaking('holding', [calling({ name: 'hold' })], { tools: [held.tool()] }).agent,
      new SequentialAgent({
        name: 'steps',
        subAgents: [new Speaking('working', [calling({ name: 'report' })], { tools: [report()] }).agent],
      }),
    ];
    await open(
      new SequentialAgent({
        name: 'root',
        subAgents: [new ParallelAgent({ name: 'all', subAgents: agents })],
      }),
    );
    const turn = await scene.send();
    await Promise.all([scene.pending(1), held.begun()]);
    await expect.poll(() => told.length).toBe(1);
    await scene.root.cancel();
    await expect(turn.result()).rejects.toThrow('cancelled');
    expect((await scene.below()).map(({ status }) => status)).toEqual(Array(5).fill('CANCELLED'));
    await expect.poll(() => told.map((text) => text.split(' ')[0])).toEqual(['began', 'cancel']);
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    expect(await scene.responses()).toHaveLength(3);
  });
});

describe('an agent below that an operator terminates', () => {
  test('fails its turn with a code of its own, and the session goes on [flow.sequential]', async () => {
    const asking = paying('asking');
    await open(new SequentialAgent({ name: 'root', subAgents: [asking.agent, saying('next').agent] }));
    const turn = await scene.send();
    await scene.pending(1);
    const { workflowId } = await scene.child('asking');
    await scene.handle(workflowId).terminate('a test');
    expect(await turn.result()).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_AGENT_LOST',
        message: expect.stringMatching(/failed to run sub-agent "asking": it was terminated/),
      },
    });
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    expect(await scene.responses()).toMatchObject([{ name: 'pay' }]);
    asking.replies = ['nothing to pay'];
    expect(await scene.say('again')).toMatchObject({ status: 'completed', text: 'next is fine' });
    expect(paid).toEqual([]);
  });

  test('doesn’t end those beside it where they are to go on [flow.parallel]', async () => {
    const agents = [paying('asking').agent, paying('other').agent];
    await open(new ParallelAgent({ name: 'root', subAgents: agents, continueOnError: true }));
    const turn = await scene.send();
    const requests = await scene.pending(2);
    const { workflowId } = await scene.child('asking');
    await scene.handle(workflowId).terminate('a test');
    const other = requests.find(({ agent }) => agent === 'other');
    await scene.root.signal('confirm', { requestId: other?.requestId, confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'other has paid' });
    expect(paid).toEqual([other?.callKey]);
  });

  test('takes those along that it runs itself [tree.cancel]', async () => {
    const both = new ParallelAgent({
      name: 'both',
      subAgents: [paying('left').agent, paying('right').agent],
    });
    await open(new SequentialAgent({ name: 'root', subAgents: [both, saying('next').agent] }));
    const turn = await scene.send();
    await scene.pending(2);
    const { workflowId } = await scene.child('both');
    await scene.handle(workflowId).terminate('a test');
    expect(await turn.result()).toMatchObject({
      status: 'failed',
      error: { code: 'HOLDFAST_AGENT_LOST' },
    });
    await expect
      .poll(async () => (await scene.below()).map(({ status }) => status).toSorted())
      .toEqual(['CANCELLED', 'CANCELLED', 'TERMINATED']);
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    expect(await scene.responses()).toHaveLength(2);
    expect(paid).toEqual([]);
  });
});

describe('a root that an operator terminates', () => {
  test('takes all below it along, and the next message finds a session that goes on [tree.cancel]', async () => {
    const always = ['left', 'right'].map(paying);
    for (const speaker of always) {
      speaker.replies = [
        ({ contents }) =>
          contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse !== undefined)
            ? 'paid'
            : calling({ name: 'pay' }),
      ];
    }
    const both = new ParallelAgent({ name: 'both', subAgents: always.map(({ agent }) => agent) });
    await open(new SequentialAgent({ name: 'root', subAgents: [both, saying('next').agent] }));
    await scene.send();
    const before = await scene.pending(2);
    await scene.root.terminate('a test');
    // At once, while those below have yet to hear of it.
    const turn = await scene.send('again');
    const isNew = ({ requestId }: { requestId: string }) =>
      !before.some((one) => one.requestId === requestId);
    const list = async () => (await scene.environment.client.approvals.list(scene.names)).filter(isNew);
    await expect.poll(async () => (await list()).length).toBe(2);
    for (const { requestId } of await list())
      await scene.root.signal('confirm', { requestId, confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'next is fine' });
    await expect
      .poll(async () => (await scene.below()).map(({ status }) => status).toSorted())
      .toEqual([...Array(3).fill('CANCELLED'), ...Array(4).fill('COMPLETED')]);
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    expect(paid).toHaveLength(2);
    const ids = (await scene.events()).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.id ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(4);
  });
});

describe('a reset', () => {
  const tree = () => {
    const first = saying('first');
    const [left, right] = [paying('left'), paying('right')];
    const last = saying('last');
    const both = new ParallelAgent({ name: 'both', subAgents: [left.agent, right.agent] });
    const steps = new SequentialAgent({ name: 'steps', subAgents: [first.agent, both, last.agent] });
    return {
      root: new LoopAgent({ name: 'root', subAgents: [steps], maxIterations: 1 }),
      speakers: [first, left, right, last],
    };
  };

  test.each(['root', 'steps', 'both', 'left'])(
    'of %s while agents wait: what was done is not done again [flow.resume]',
    async (whose) => {
      const { root, speakers } = tree();
      await open(root);
      await scene.send();
      const requests = await scene.pending(2);
      const right = requests.find(({ agent }) => agent === 'right');
      await scene.root.signal('confirm', { requestId: right?.requestId, confirmed: true });
      await expect.poll(() => paid.length).toBe(1);
      await expect
        .poll(async () =>
          (await scene.events()).some(({ event }) => event.content?.parts?.[0]?.text === 'right has paid'),
        )
        .toBe(true);
      const left = requests.find(({ agent }) => agent === 'left');
      const runs = await scene.below();
      const agents = new Map<string, string>([['root', scene.rootId]]);
      const steps = await scene.child('steps');
      const both = await scene.child('both', steps.workflowId);
      agents.set('steps', steps.workflowId).set('both', both.workflowId);
      agents.set('left', left?.workflowId ?? '');
      expect(runs.length).toBe(5);
      await scene.reset(agents.get(whose) ?? '');
      await expect
        .poll(
          async () => {
            const [waiting] = await scene.environment.client.approvals.list(scene.names);
            if (waiting !== undefined)
              await scene.root.signal('confirm', { requestId: waiting.requestId, confirmed: true });
            return (await scene.root.describe()).status.name;
          },
          { interval: 500 },
        )
        .not.toBe('RUNNING');
      expect(await scene.root.result()).toMatchObject({ status: 'completed', text: 'last is fine' });
      expect(paid).toHaveLength(2);
      expect(new Set(paid).size).toBe(2);
      expect(speakers.map(({ shown }) => shown.length)).toEqual([1, 2, 2, 1]);
    },
  );

  test('of a turn that has ended, root or below, to each of its tasks: nothing is done again [flow.resume] [steer.reset]', async () => {
    const { root, speakers } = tree();
    await open(root);
    const turn = await scene.send();
    for (const { requestId } of await scene.pending(2))
      await scene.root.signal('confirm', { requestId, confirmed: true });
    const result = await turn.result();
    const events = await scene.events();
    const shown = speakers.map((speaker) => speaker.shown.length);
    const ids = [scene.rootId, ...new Set((await scene.below()).map(({ workflowId }) => workflowId))];
    for (const workflowId of ids) {
      const before = await scene.handle(workflowId).result();
      for (const which of ['first', 'last'] as const) {
        const runId = await scene.reset(workflowId, which);
        expect(await scene.handle(workflowId, runId).result(), `${workflowId} ${which}`).toEqual(before);
      }
    }
    expect(await scene.root.result()).toEqual(result);
    expect(await scene.events()).toEqual(events);
    expect(speakers.map((speaker) => speaker.shown.length)).toEqual(shown);
    expect(paid).toHaveLength(2);
  });
});
