import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { agentsWithin, llmAgentsOf } from '../../src/agents/agents-of-tree.ts';
import { BaseAgent, type BaseAgentConfig, runOfImpl } from '../../src/agents/base-agent.ts';
import { CustomAgent, isCustomAgent } from '../../src/agents/custom-agent.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  isLoopAgent,
  isParallelAgent,
  isSequentialAgent,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
} from '../../src/agents/workflow-agents.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';
import { refusal } from './refusal.ts';
import { contextWith } from './tool-context.ts';

const llm = (name: string, subAgents: BaseAgent[] = []) => new LlmAgent({ name, model: 'm', subAgents });

class Answers extends CustomAgent {
  override next() {
    return { done: [] };
  }
}

class Ported extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext) {
    for (const subAgent of this.subAgents) yield* subAgent.runAsync(context);
    yield createEvent({ author: this.name });
  }
}

describe('agents that run others [flow.sequential] [flow.parallel] [flow.loop] [flow.custom]', () => {
  test('are known by their kind, across copies of the package', () => {
    const agents = {
      sequence: new SequentialAgent({ name: 'sequence', subAgents: [llm('a')] }),
      parallel: new ParallelAgent({ name: 'parallel', subAgents: [llm('b')] }),
      loop: new LoopAgent({ name: 'loop', subAgents: [llm('c')] }),
      custom: new Answers({ name: 'custom' }),
      llm: llm('d'),
    };
    const known = (isKind: (value: unknown) => boolean) =>
      Object.entries(agents).flatMap(([name, agent]) => (isKind(agent) ? [name] : []));
    expect(known(isSequentialAgent)).toEqual(['sequence']);
    expect(known(isParallelAgent)).toEqual(['parallel']);
    expect(known(isLoopAgent)).toEqual(['loop']);
    expect(known(isCustomAgent)).toEqual(['custom']);
    expect(isLoopAgent({ [Symbol.for('holdfast.loopAgent')]: true })).toBe(true);
    expect([null, 1, {}].some(isSequentialAgent)).toBe(false);
  });

  test('defaults, and what they are given', () => {
    expect(new ParallelAgent({ name: 'p', subAgents: [llm('a')] })).toMatchObject({
      continueOnError: false,
      maxParallel: 32,
    });
    expect(
      new ParallelAgent({ name: 'p', subAgents: [llm('a')], continueOnError: true, maxParallel: 2 }),
    ).toMatchObject({ continueOnError: true, maxParallel: 2 });
    expect(new LoopAgent({ name: 'l', subAgents: [llm('a')] }).maxIterations).toBeUndefined();
    expect(new LoopAgent({ name: 'l', subAgents: [llm('a')], maxIterations: 3 }).maxIterations).toBe(3);
  });

  test('may have nobody to run [flow.empty]', () => {
    const loop = (options: object) =>
      new LoopAgent({ name: 'loop', subAgents: [new SequentialAgent({ name: 'nobody' })], ...options });
    expect(() => loop({})).toThrow(/maxIterations: .*never ends/);
    expect(loop({ maxIterations: 2 }).maxIterations).toBe(2);
    for (const Kind of [SequentialAgent, ParallelAgent, LoopAgent]) {
      expect(new Kind({ name: 'nobody' }).subAgents).toEqual([]);
      expect(new Kind({ name: 'nobody', subAgents: [] }).subAgents).toEqual([]);
    }
  });

  const subAgents = () => [llm('a')];

  test.each<[string, () => unknown, string]>([
    [
      'no list',
      () => new SequentialAgent({ name: 's', subAgents: llm('a') as never }),
      'SequentialAgent "s": subAgents: expected a list of agents, got object',
    ],
    [
      "ADK's agent",
      () =>
        new SequentialAgent({
          name: 's',
          subAgents: [new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash' }) as never],
        }),
      `SequentialAgent "s": subAgents[0]: an agent of @google/adk; import its class from 'holdfast' instead`,
    ],
    [
      'a hole',
      // biome-ignore lint/suspicious/noSparseArray: that is what is refused
      () => new SequentialAgent({ name: 's', subAgents: [, llm('a')] as never }),
      'SequentialAgent "s": subAgents[0]: expected an agent, got undefined',
    ],
    [
      'a parent',
      () =>
        new SequentialAgent({ name: 's', subAgents: subAgents(), parentAgent: llm('p') } as BaseAgentConfig),
      'SequentialAgent "s": parentAgent: is set by the agent that lists this one in its subAgents; leave it out',
    ],
    [
      'a typo',
      () => new LoopAgent({ name: 'l', subAgents: subAgents(), maxIteration: 2 } as never),
      'LoopAgent "l": maxIteration: unknown option; did you mean "maxIterations"?',
    ],
    [
      'later',
      () => new SequentialAgent({ name: 's', subAgents: subAgents(), retryConfig: {} } as never),
      'SequentialAgent "s": retryConfig: an option of ADK that this release of Holdfast does not have',
    ],
    [
      'more beside each other than a workflow shows',
      () => new ParallelAgent({ name: 'p', subAgents: Array.from({ length: 101 }, (_, i) => llm(`a${i}`)) }),
      'ParallelAgent "p": subAgents: expected at most 100 agents, got 101',
    ],
    [
      'deeper than they run',
      () => {
        let agent: BaseAgent = llm('leaf');
        for (let depth = 0; depth < 16; depth += 1)
          agent = new SequentialAgent({ name: `s${depth}`, subAgents: [agent] });
        return agent;
      },
      'SequentialAgent "s0": subAgents: at most 16 agents may be below one another, "s15" the first',
    ],
    [
      'a script that nobody would run',
      () => {
        class Scripted extends SequentialAgent {
          protected override async *runAsyncImpl() {
            yield createEvent();
          }
        }
        return new Scripted({ name: 's', subAgents: subAgents() });
      },
      'Scripted "s": runAsyncImpl: would never be called: extend BaseAgent, and have this agent as one of its sub-agents',
    ],
    [
      'a script of an agent that asks a model',
      () => {
        class Scripted extends LlmAgent {
          protected override async *runAsyncImpl() {
            yield createEvent();
          }
        }
        return new Scripted({ name: 's', model: 'm' });
      },
      'Scripted "s": runAsyncImpl: would never be called',
    ],
    [
      'an agent of nobody',
      () => {
        class Empty extends BaseAgent {
          declare protected runAsyncImpl: never;
        }
        return new Empty({ name: 'e' });
      },
      'Empty "e": runAsyncImpl: required of a class that extends BaseAgent: what the agent does',
    ],
  ])('%s is refused [define.refuse]', (_, make, message) => {
    expect(refusal(make).message).toContain(message);
  });
});

describe('clones [agent.define]', () => {
  test('are made anew, with clones of the sub-agents, and have no parent', () => {
    const writer = llm('writer');
    const loop = new LoopAgent({ name: 'loop', subAgents: [writer], maxIterations: 2 });
    new SequentialAgent({ name: 'root', subAgents: [loop] });
    const clone = loop.clone({ name: 'again' });
    expect(clone).toBeInstanceOf(LoopAgent);
    expect(clone).toMatchObject({ name: 'again', maxIterations: 2, parentAgent: undefined });
    expect(clone.subAgents.map(({ name }) => name)).toEqual(['writer']);
    expect(clone.subAgents[0]).not.toBe(writer);
    expect(clone.subAgents[0]?.parentAgent).toBe(clone);
    expect(writer.parentAgent).toBe(loop);
  });

  test('take what they are given', () => {
    const agent = new LlmAgent({ name: 'greeter', model: 'm', instruction: 'Greet.', subAgents: [llm('a')] });
    const other = llm('b');
    const clone = agent.clone({ instruction: 'Greet formally.', subAgents: [other] });
    expect(clone).toMatchObject({ name: 'greeter', model: 'm', instruction: 'Greet formally.' });
    expect(clone.subAgents).toEqual([other]);
    expect(agent.instruction).toBe('Greet.');
    expect(refusal(() => agent.clone({ parentAgent: other } as object)).message).toContain(
      'parentAgent: Cannot update `parentAgent` field in clone. Parent agent is set only when',
    );
  });
});

describe('ported agents [flow.custom]', () => {
  const leaf = llm('leaf');
  const ported = new Ported({ name: 'ported', subAgents: [leaf] });

  test('their script gets what the engine says of the runs of their sub-agents', async () => {
    const said = createEvent({ author: 'leaf' });
    const context = new InvocationContext({
      ...InvocationContext.initOf(contextWith().invocationContext),
      async *runSubAgent(agent) {
        expect(agent).toBe(leaf);
        yield said;
      },
    });
    const events: Event[] = [];
    for await (const event of runOfImpl(ported, context)) events.push(event);
    expect(events.map(({ author }) => author)).toEqual(['leaf', 'ported']);
    expect(events[0]).toBe(said);
  });

  test('nobody else runs agents by hand', async () => {
    await expect(leaf.runAsync(contextWith().invocationContext).next()).rejects.toThrow(
      'agent "leaf" is not run by hand: only the runAsyncImpl of an agent above it runs it',
    );
    await expect(leaf.runAsync({} as InvocationContext).next()).rejects.toThrow('is not run by hand');
    expect(() => runOfImpl(leaf, contextWith().invocationContext)).toThrow('is not run by hand');
  });
});

test('what a worker may come to run: trees, and those of tools, wherever they hang [worker.agents]', () => {
  const expert = llm('expert');
  const elsewhere = llm('elsewhere');
  const deep = new LlmAgent({ name: 'deep', model: 'm', tools: [new AgentTool({ agent: expert })] });
  const tools = [
    new AgentTool({ agent: new SequentialAgent({ name: 'steps', subAgents: [deep] }) }),
    new AgentTool({ agent: elsewhere, taskQueue: 'other' }),
  ];
  const root = new LoopAgent({
    name: 'loop',
    subAgents: [new LlmAgent({ name: 'asking', model: 'm', tools }), new Answers({ name: 'custom' })],
  });
  expect(agentsWithin([root, root]).map(({ name }) => name)).toEqual([
    'loop',
    'asking',
    'steps',
    'deep',
    'expert',
    'custom',
  ]);
  expect(llmAgentsOf([root]).map(({ name }) => name)).toEqual(['asking', 'deep', 'expert']);
});
