import { describe, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { runKeyOfAgent } from '../../src/protocol/identity.ts';
import { EXIT_LOOP } from '../../src/tools/built-in/loop-control-tools.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function run(agent: BaseAgent, message = 'go') {
  const environment = await openEnvironment({ agents: [agent] });
  const { temporal } = environment;
  return { temporal, ...(await environment.run({ message })) };
}

describe('agents one after another', () => {
  test('see what those before them have said and written; the last one has the last word [flow.sequential]', async () => {
    const first = new Speaking('first', ['a draft'], { outputKey: 'draft' });
    const second = new Speaking('second', ['the final text'], { instruction: 'Mend: {draft}' });
    const root = new SequentialAgent({ name: 'report', subAgents: [first.agent, second.agent] });
    const { result, events, temporal, workflowId } = await run(root);
    expect(result).toMatchObject({ status: 'completed', text: 'the final text', usage: { modelCalls: 2 } });
    expect(second.told[0]).toContain('Mend: a draft');
    expect(textsOf(second.shown[0])).toEqual(['go', 'For context:', '[first] said: a draft']);
    expect(events.map(({ kind, event }) => [kind, event.author])).toEqual([
      ['message', 'user'],
      ['model', 'first'],
      ['model', 'second'],
    ]);
    const { invocationId } = result;
    expect(events.map(({ event }) => event.invocationId)).toEqual(Array(3).fill(invocationId));
    const keys = ['first', 'second'].map((agent, index) =>
      runKeyOfAgent(invocationId, { agent, step: 1, index }),
    );
    expect(events.slice(1).map(({ runKey }) => runKey)).toEqual(keys);
    const child = temporal.workflow.getHandle(`${workflowId}/${keys[0]}`);
    expect((await child.describe()).status.name).toBe('COMPLETED');
  });

  test('end where one fails, and say which [flow.sequential]', async () => {
    const failing = new Speaking('failing', [{ errorCode: 'SAFETY', errorMessage: 'it must not be said' }]);
    const never = new Speaking('never', ['unreachable']);
    const root = new SequentialAgent({ name: 'report', subAgents: [failing.agent, never.agent] });
    const { result } = await run(root);
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'SAFETY', message: 'failed to run sub-agent "failing": it must not be said' },
    });
    expect(never.shown).toEqual([]);
  });
});

describe('agents again and again', () => {
  test('until one of them escalates: it comes to its end, those behind it don’t run [flow.loop]', async () => {
    const writer = new Speaking('writer', ['one', 'two', 'three']);
    const critic = new Speaking('critic', ['more', calling({ name: 'exit_loop' })], { tools: [EXIT_LOOP] });
    const last = new Speaking('last', ['and so on']);
    const root = new LoopAgent({ name: 'refine', subAgents: [writer.agent, critic.agent, last.agent] });
    const { result } = await run(root);
    expect(result).toMatchObject({ status: 'completed', usage: { modelCalls: 5 } });
    expect([writer, critic, last].map(({ shown }) => shown.length)).toEqual([2, 2, 1]);
  });

  test('as often as they may [flow.loop]', async () => {
    const writer = new Speaking('writer', ['one', 'two', 'three', 'four']);
    const { result } = await run(
      new LoopAgent({ name: 'refine', subAgents: [writer.agent], maxIterations: 3 }),
    );
    expect(result).toMatchObject({ status: 'completed', text: 'three' });
    expect(writer.shown).toHaveLength(3);
  });

  if (isDeep) {
    test('a loop in a loop ends alone [flow.loop]', async () => {
      const inner = new Speaking('inner', [calling({ name: 'exit_loop' })], { tools: [EXIT_LOOP] });
      const outer = new Speaking('outer', ['round']);
      const nested = new LoopAgent({ name: 'nested', subAgents: [inner.agent], maxIterations: 9 });
      const root = new LoopAgent({ name: 'root', subAgents: [nested, outer.agent], maxIterations: 2 });
      await run(root);
      expect([inner, outer].map(({ shown }) => shown.length)).toEqual([2, 2]);
    });
  }
});

describe('agents at the same time', () => {
  test('don’t see each other, and all that they write is kept [flow.parallel] [flow.parallel.state]', async () => {
    const names = ['press', 'papers', 'talks'];
    const speaking = names.map((name) => new Speaking(name, [`from ${name}`], { outputKey: name }));
    const all = new ParallelAgent({ name: 'research', subAgents: speaking.map(({ agent }) => agent) });
    const writer = new Speaking('writer', ['all of it'], { instruction: '{press}, {papers}, {talks}' });
    const root = new SequentialAgent({ name: 'root', subAgents: [all, writer.agent] });
    const { result, events } = await run(root);
    expect(result).toMatchObject({ status: 'completed', text: 'all of it' });
    for (const { shown } of speaking) expect(textsOf(shown[0])).toEqual(['go']);
    expect(writer.told[0]).toContain('from press, from papers, from talks');
    const branches = events.flatMap(({ event }) => event.branch ?? []);
    expect(branches.toSorted()).toEqual(names.map((name) => `research.${name}`).toSorted());
    expect(textsOf(writer.shown[0]).filter((text) => text.startsWith('['))).toHaveLength(3);
  });

  test('are cancelled where one fails, and the turn says why [flow.parallel]', async () => {
    const failing = new Speaking('failing', [{ errorCode: 'SAFETY', errorMessage: 'no' }]);
    const slow = new Speaking('slow', [() => new Promise(() => undefined)]);
    const { result } = await run(new ParallelAgent({ name: 'both', subAgents: [slow.agent, failing.agent] }));
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'SAFETY', message: 'failed to run sub-agent "failing": no' },
    });
  });

  test('go on where one fails, if they are to [flow.parallel]', async () => {
    const failing = new Speaking('failing', [{ errorCode: 'SAFETY', errorMessage: 'no' }]);
    const other = new Speaking('other', ['fine']);
    const root = new ParallelAgent({
      name: 'both',
      subAgents: [failing.agent, other.agent],
      continueOnError: true,
    });
    const { result } = await run(root);
    expect(result).toMatchObject({ status: 'completed', text: 'fine' });
  });
});
