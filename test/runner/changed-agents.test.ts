import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type BaseAgent,
  BaseLlm,
  BaseLlmRequestProcessor,
  DefinitionError,
  InMemorySessionService,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  RoutedAgent,
  Runner,
  SequentialAgent,
  setLogger,
  stringifyContent,
  ToolAgent,
  TruncatingContextCompactor,
  tool,
} from '../../src/index.ts';
import { startMockGemini, text } from '../../src/testing/index.ts';
import { deploy } from '../../worker/deploy.ts';

const gemini = await startMockGemini({ script: [] });
Object.assign(process.env, gemini.env);

const model = 'gemini-2.5-flash';
const service = new InMemorySessionService();

beforeAll(() => void setLogger(null));
beforeEach(() => gemini.reset(() => text('Hello.')));
afterAll(async () => {
  await service.close();
  await gemini.close();
});

const named = (name: string) => tool({ name, description: 'works', execute: () => ({ done: true }) });
const taken = (agent: BaseAgent) => deploy({ agents: [agent] } as unknown as Parameters<typeof deploy>[0]);

class Scripted extends BaseLlm {
  override async *generateContentAsync() {
    yield { content: { role: 'model', parts: [{ text: 'Scripted.' }] } };
  }
}

async function run(
  agent: BaseAgent,
  runner = new Runner({ appName: 'shop', agent, sessionService: service }),
) {
  const { id: sessionId } = await service.createSession({ appName: 'shop', userId: 'ada' });
  const said: string[] = [];
  const newMessage = { role: 'user', parts: [{ text: 'Hi' }] };
  for await (const event of runner.runAsync({ userId: 'ada', sessionId, newMessage })) {
    said.push(event.errorMessage ?? stringifyContent(event));
  }
  return said;
}

describe('an agent', () => {
  test('that is changed after it was made runs as it is then [agent.change]', async () => {
    const called: string[] = [];
    const note = (what: string) => () => void called.push(what);
    const agent = new LlmAgent({ name: 'desk', model });
    const clerk = new LlmAgent({ name: 'clerk' });
    class Noting extends BaseLlmRequestProcessor {
      override async *runAsync() {
        called.push('processor');
        yield* [];
      }
    }
    agent.tools.push(named('find'));
    agent.subAgents.push(clerk);
    agent.instruction = 'Be brief.';
    agent.generateContentConfig.temperature = 0.5;
    agent.beforeModelCallback = note('model');
    agent.beforeAgentCallback.push(note('agent'));
    agent.requestProcessors.push(new Noting());
    agent.requestProcessors.splice(0, 0, new Noting());
    agent.requestProcessors.splice(0, 1);
    expect(await run(agent)).toEqual(['Hello.']);
    expect(called).toEqual(['agent', 'processor', 'model']);
    const [request] = gemini.requests;
    expect(JSON.stringify(request)).toContain('Be brief.');
    expect(JSON.stringify(request)).toContain('"temperature":0.5');
    expect(JSON.stringify(request)).toMatch(/transfer_to_agent.*"name":"find"/);
    expect(clerk.parentAgent).toBe(agent);

    const other = new LlmAgent({ name: 'other', model });
    const runner = new Runner({ appName: 'shop', agent: other, sessionService: service });
    other.model = new Scripted({ model: 'scripted' });
    expect(await run(other, runner)).toEqual(['Scripted.']);
  });

  test('that a worker has taken throws where it is changed, and has a remedy [agent.change]', () => {
    const agent = new LlmAgent({
      name: 'desk',
      model,
      tools: [named('find')],
      subAgents: [new LlmAgent({ name: 'clerk' })],
      generateContentConfig: { httpOptions: { timeout: 1 }, stopSequences: ['.'] },
    });
    const steps = new ParallelAgent({ name: 'desk', subAgents: [new LoopAgent({ name: 'rounds' })] });
    for (const each of [agent, steps]) taken(each);
    const { generateContentConfig: settings } = agent;
    const late =
      /^\w+ "(desk|rounds)": \w+: a worker runs the agent by now; change it before its first turn, or run an `agent.clone/;
    const changes = [
      () => agent.tools.push(named('more')),
      () => agent.tools.splice(0, 1),
      () => void delete agent.tools[0],
      () => agent.subAgents.pop(),
      () => agent.requestProcessors.reverse(),
      () => agent.beforeAgentCallback.push(() => undefined),
      () => Object.assign(agent, { model: 'gemini-2.5-pro' }),
      () => Object.assign(agent, { beforeToolCallback: [] }),
      () => Object.assign(agent, { name: 'another' }),
      () => Object.assign(agent, { durable: {} }),
      () => Object.assign(agent.durable, { maxParallelCalls: 1 }),
      () => Object.assign(settings, { temperature: 0.9 }),
      () => void delete settings.httpOptions,
      () => Object.assign(settings.httpOptions ?? {}, { timeout: 2 }),
      () => settings.stopSequences?.push('!'),
      () => void new LlmAgent({ name: 'above', model, subAgents: [agent] }),
      () => Object.assign(steps, { maxParallel: 1 }),
      () => Object.assign(steps, { continueOnError: true }),
      () => Object.assign(steps.subAgents[0] ?? {}, { maxIterations: 1 }),
      () => Object.assign(steps.subAgents[0] ?? {}, { parentAgent: undefined }),
    ];
    for (const change of changes) expect(change).toThrow(late);
    expect([agent.tools.length, agent.subAgents.length, agent.model]).toEqual([1, 1, model]);
    // Another worker takes it as it is.
    taken(agent);
    const clone = agent.clone({ model: 'gemini-2.5-pro' });
    clone.tools.push(named('more'));
    clone.generateContentConfig.temperature = 0.9;
    expect(clone).toMatchObject({ model: 'gemini-2.5-pro', tools: { length: 2 } });
    expect([agent.clone().generateContentConfig, clone.parentAgent]).toEqual([settings, undefined]);
  });

  test.each([true, false])(
    'that was changed is cloned as it is, taken or not: %s [agent.change]',
    (isTaken) => {
      const clerk = new LlmAgent({ name: 'clerk' });
      const agent = new LlmAgent({ name: 'desk', model, outputKey: 'answer', subAgents: [clerk] });
      const rounds = new LoopAgent({ name: 'rounds', subAgents: [agent], maxIterations: 2 });
      const calls = new ToolAgent({ name: 'calls' });
      Object.assign(agent, { instruction: 'new', outputKey: undefined, description: 'helps' });
      agent.generateContentConfig.temperature = 0.9;
      for (const { tools } of [agent, clerk, calls]) tools.push(named('find'));
      Object.assign(rounds, { maxIterations: 3 });
      agent.subAgents.push(calls);
      if (isTaken) taken(rounds);
      const clone = rounds.clone();
      const desk = clone.subAgents[0] as LlmAgent;
      expect(clone.maxIterations).toBe(3);
      expect(desk).toMatchObject({
        instruction: 'new',
        description: 'helps',
        outputKey: undefined,
        generateContentConfig: { temperature: 0.9 },
        tools: [agent.tools[0]],
        subAgents: [{ tools: clerk.tools }, { tools: calls.tools, includeContents: 'none' }],
        requestProcessors: agent.requestProcessors,
      });
      expect(desk.subAgents[1]).toBeInstanceOf(ToolAgent);
    },
  );

  test('is cloned with fields that follow from its overrides [agent.change]', () => {
    const outputSchema = z.object({ at: z.string() });
    const agent = new LlmAgent({ name: 'desk', model, outputSchema });
    expect(agent.clone()).toMatchObject({ outputSchema, disallowTransferToPeers: true });
    expect(agent.clone({ outputSchema: undefined } as object).disallowTransferToPeers).toBe(false);
    const { length } = agent.requestProcessors;
    const contextCompactors = [new TruncatingContextCompactor({ threshold: 9 })];
    expect(agent.clone({ contextCompactors }).requestProcessors).toHaveLength(length + 1);
  });

  test.each<[string, (agent: LlmAgent) => unknown, RegExp]>([
    ['two tools of one name', ({ tools }) => tools.push(named('find')), /tools\[1\]: duplicate tool: "find"/],
    ['no tool', ({ tools }) => tools.push({} as never), /tools\[1\]: expected a tool/],
    [
      'a sub-agent of another agent',
      ({ subAgents }) =>
        subAgents.push(
          new SequentialAgent({ name: 's', subAgents: [new LlmAgent({ name: 'x' })] }).subAgents[0] as never,
        ),
      /subAgents\[0\]: Agent "x" already has a parent agent, current parent: "s", trying to add: "desk"/,
    ],
    [
      'a sub-agent of its name',
      ({ subAgents }) => subAgents.push(new LlmAgent({ name: 'desk' })),
      /duplicate agent name "desk"/,
    ],
    ['no model', (agent) => Object.assign(agent, { model: 5 }), /model: expected the name of a model/],
    [
      'no callback',
      (agent) => Object.assign(agent, { beforeToolCallback: [1] }),
      /beforeToolCallback\[0\]: expected a function/,
    ],
    [
      'no processor',
      ({ responseProcessors }) => responseProcessors.push({} as never),
      /responseProcessors\[0\]: expected a processor/,
    ],
    ['no mode', (agent) => Object.assign(agent, { mode: 'chat' }), /mode: expected/],
  ])('that has become wrong is refused by its worker: %s [agent.change]', (_what, change, problem) => {
    const agent = new LlmAgent({ name: 'desk', model, tools: [named('find')] });
    change(agent);
    expect(() => taken(agent)).toThrow(DefinitionError);
    expect(() => taken(agent)).toThrow(problem);
  });

  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => new LlmAgent({ name: `a${index}`, model }));

  test.each<[string, (desk: LlmAgent, steps: ParallelAgent) => unknown, string]>([
    [
      'no tool',
      ({ tools }) => tools.push(undefined as never),
      'LlmAgent "desk": tools[0]: expected a tool, got undefined',
    ],
    [
      'no sub-agent',
      ({ subAgents }) => subAgents.push(undefined as never),
      'LlmAgent "desk": subAgents[0]: expected an agent, got undefined',
    ],
    [
      'no list',
      (desk) => Object.assign(desk, { subAgents: undefined }),
      'LlmAgent "desk": subAgents: expected a list of agents, got undefined',
    ],
    [
      'a circle',
      ({ subAgents }, steps) => subAgents.push(steps),
      'LlmAgent "desk": subAgents[0]: duplicate agent name "steps": names are unique within a tree',
    ],
    [
      'a tree that is too deep',
      (desk) =>
        many(20).reduce((above, agent) => {
          above.subAgents.push(agent);
          return agent;
        }, desk),
      'LlmAgent "a13": subAgents: at most 16 agents may be below one another, "steps" the first',
    ],
    [
      'more sub-agents than may be',
      (_desk, { subAgents }) => subAgents.push(...many(300)),
      'ParallelAgent "steps": subAgents: expected at most 100 agents, got 301',
    ],
    [
      'no count',
      (_desk, steps) => Object.assign(steps, { maxParallel: 0 }),
      'ParallelAgent "steps": maxParallel: expected a whole number, 1 or more, got 0',
    ],
    [
      'no description',
      (_desk, steps) => Object.assign(steps, { description: 5 }),
      'ParallelAgent "steps": description: expected a string, got number',
    ],
  ])(
    'of a tree that has become wrong is refused by runner and worker: %s [agent.change]',
    (_what, change, message) => {
      const desk = new LlmAgent({ name: 'desk', model });
      const steps = new ParallelAgent({ name: 'steps', subAgents: [desk] });
      change(desk, steps);
      expect(() => taken(steps)).toThrow(message);
      expect(() => taken(steps)).toThrow(DefinitionError);
      expect(() => new Runner({ appName: 'shop', agent: steps, sessionService: service })).toThrow(message);
      // No worker has taken a part of it.
      desk.instruction = 'Be brief.';
    },
  );

  test('that has nobody to run ends at once, also a loop without end [flow.empty]', async () => {
    expect(await run(new LoopAgent({ name: 'rounds' }))).toEqual([]);
    expect(await run(new ParallelAgent({ name: 'beside', subAgents: [] }))).toEqual([]);
    const routed = new RoutedAgent({ name: 'routed', agents: [], router: () => 'one' });
    expect(await run(routed)).toEqual([expect.stringContaining('Item not found for key: one')]);
  });
});
