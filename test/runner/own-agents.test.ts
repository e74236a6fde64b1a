import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  BaseAgent,
  type BaseAgentConfig,
  BaseLlm,
  BaseLlmRequestProcessor,
  createEvent,
  DefinitionError,
  type Event,
  InMemorySessionService,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  RoutedAgent,
  Runner,
  type RunParams,
  SequentialAgent,
  setLogger,
  stringifyContent,
  tool,
} from '../../src/index.ts';
import { call, startMockGemini, text } from '../../src/testing/index.ts';
import { deploy } from '../../worker/deploy.ts';

const gemini = await startMockGemini({ script: [] });
Object.assign(process.env, gemini.env);

const model = 'gemini-2.5-flash';
const appName = 'shop';
const userId = 'ada';
const newMessage = { role: 'user', parts: [{ text: 'Hi' }] };
const service = new InMemorySessionService();

beforeAll(() => void setLogger(null));
beforeEach(() => gemini.reset(() => text('Hello from the model.')));
afterAll(async () => {
  await service.close();
  await gemini.close();
});

type Script = (context: InvocationContext, agent: Scripted) => AsyncGenerator<Event, void, void>;

class Scripted extends BaseAgent {
  readonly #script: Script;

  constructor(script: Script, config: Partial<BaseAgentConfig> = {}) {
    super({ name: 'scripted', ...config });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context, this);
  }

  says(said: string, more: Partial<Event> = {}): Event {
    return createEvent({ author: this.name, content: { role: 'model', parts: [{ text: said }] }, ...more });
  }
}

async function run(
  agent: BaseAgent,
  params: Partial<RunParams> = {},
  runner = new Runner({ appName, agent, sessionService: service }),
): Promise<{ events: Event[]; sessionId: string }> {
  const sessionId = params.sessionId ?? (await service.createSession({ appName, userId })).id;
  const events: Event[] = [];
  for await (const event of runner.runAsync({ userId, sessionId, newMessage, ...params })) events.push(event);
  return { events, sessionId };
}

async function kept(sessionId: string): Promise<string[]> {
  const session = await service.getSession({ appName, userId, sessionId });
  return (session?.events ?? []).map((event) => stringifyContent(event));
}

const said = (events: readonly Event[]) =>
  events.map((event) => [event.partial === true, stringifyContent(event)]);

describe("a ported agent's own", () => {
  test('partial events are yielded as partial, once, and not stored [flow.partial]', async () => {
    const greeter = new LlmAgent({ name: 'greeter', model: 'gemini-2.5-flash' });
    const agent = new Scripted(
      async function* (context, self) {
        yield self.says('First, ', { partial: true, actions: createEvent({}).actions });
        yield self.says('First, this.', { partial: false });
        yield self.says('Before. ', { partial: true });
        yield* greeter.runAsync(context);
        yield self.says('Then, ', { partial: true });
        yield self.says('Then, that.');
      },
      { subAgents: [greeter] },
    );
    const { events, sessionId } = await run(agent);
    const whole = ['First, this.', 'Hello from the model.', 'Then, that.'];
    expect(said(events).filter(([partial]) => !partial)).toEqual(whole.map((each) => [false, each]));
    const partial = events.filter((event) => event.partial).map((event) => stringifyContent(event));
    expect(partial.join('')).toBe('First, Before. Then, ');
    expect(said(events).at(0)).toEqual([true, expect.stringMatching(/^First, /)]);
    expect(await kept(sessionId)).toEqual(['Hi', ...whole]);
  });

  test.each(['root', 'sub-agent'])(
    'call for a confirmation is answered to the agent: %s [flow.ownRequest]',
    async (place) => {
      const heard: unknown[] = [];
      const own = new Scripted(async function* (context, self) {
        const response = context.userContent?.parts?.[0]?.functionResponse;
        if (response !== undefined) {
          heard.push(response.response);
          yield self.says('Done.');
          return;
        }
        const functionCall = {
          id: 'confirm-xyz',
          name: 'adk_request_confirmation',
          args: { toolConfirmation: { hint: 'Sure?' } },
        };
        yield self.says('', {
          content: { role: 'model', parts: [{ functionCall }] },
          longRunningToolIds: ['confirm-xyz'],
        });
      });
      gemini.reset(() => call('transfer_to_agent', { agentName: 'scripted' }));
      const agent =
        place === 'root' ? own : new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', subAgents: [own] });
      const { sessionId } = await run(agent);
      const answer = (id: string) => ({
        sessionId,
        newMessage: {
          role: 'user',
          parts: [
            { functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed: true } } },
          ],
        },
      });
      await expect(run(agent, answer('confirm-abc'))).rejects.toThrow('confirm-abc');
      const { events } = await run(agent, answer('confirm-xyz'));
      expect(said(events)).toEqual([[false, 'Done.']]);
      expect(heard).toEqual([{ confirmed: true }]);
    },
  );
});

const named = (name: string) => tool({ name, description: 'works', execute: () => ({ done: true }) });
const taken = (agent: BaseAgent) => deploy({ agents: [agent] } as unknown as Parameters<typeof deploy>[0]);

class ScriptedLlm extends BaseLlm {
  override async *generateContentAsync() {
    yield { content: { role: 'model', parts: [{ text: 'Scripted.' }] } };
  }
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
    expect(said((await run(agent)).events)).toEqual([[false, 'Hello from the model.']]);
    expect(called).toEqual(['agent', 'processor', 'model']);
    const [request] = gemini.requests;
    expect(JSON.stringify(request)).toContain('Be brief.');
    expect(JSON.stringify(request)).toContain('"temperature":0.5');
    expect(JSON.stringify(request)).toMatch(/transfer_to_agent.*"name":"find"/);
    expect(clerk.parentAgent).toBe(agent);

    const other = new LlmAgent({ name: 'other', model });
    const runner = new Runner({ appName, agent: other, sessionService: service });
    other.model = new ScriptedLlm({ model: 'scripted' });
    expect(said((await run(other, {}, runner)).events)).toEqual([[false, 'Scripted.']]);
  });

  test('that a worker has taken throws where it is changed, and has a remedy [agent.change]', () => {
    const agent = new LlmAgent({
      name: 'desk',
      model,
      tools: [named('find')],
      subAgents: [new LlmAgent({ name: 'clerk' })],
    });
    taken(agent);
    const late =
      /^LlmAgent "desk": \w+: a worker runs the agent by now; change it before its first turn, or run an `agent.clone/;
    const changes = [
      () => agent.tools.push(named('more')),
      () => agent.tools.splice(0, 1),
      () => agent.subAgents.pop(),
      () => agent.requestProcessors.reverse(),
      () => agent.beforeAgentCallback.push(() => undefined),
      () => Object.assign(agent, { model: 'gemini-2.5-pro' }),
      () => Object.assign(agent, { beforeToolCallback: [] }),
    ];
    for (const change of changes) expect(change).toThrow(late);
    expect([agent.tools.length, agent.subAgents.length, agent.model]).toEqual([1, 1, model]);
    // Another worker takes it as it is.
    taken(agent);
    const clone = agent.clone({ model: 'gemini-2.5-pro' });
    clone.tools.push(named('more'));
    expect(clone).toMatchObject({ model: 'gemini-2.5-pro', tools: { length: 2 } });
  });

  test.each<[string, (agent: LlmAgent) => unknown, RegExp]>([
    ['two tools of one name', ({ tools }) => tools.push(named('find')), /tools\[1\]: duplicate tool: "find"/],
    [
      'a sub-agent of another agent',
      ({ subAgents }) =>
        subAgents.push(
          new SequentialAgent({ name: 's', subAgents: [new LlmAgent({ name: 'x' })] }).subAgents[0] as never,
        ),
      /subAgents\[0\]: Agent "x" already has a parent agent, current parent: "s", trying to add: "desk"/,
    ],
    ['no model', (agent) => Object.assign(agent, { model: 5 }), /model: expected the name of a model/],
    [
      'no callback',
      (agent) => Object.assign(agent, { beforeToolCallback: [1] }),
      /beforeToolCallback\[0\]: expected a function/,
    ],
    ['a mode', (agent) => Object.assign(agent, { mode: 'task' }), /mode: /],
  ])('that has become wrong is refused by its worker: %s [agent.change]', (_what, change, problem) => {
    const agent = new LlmAgent({ name: 'desk', model, tools: [named('find')] });
    change(agent);
    expect(() => taken(agent)).toThrow(DefinitionError);
    expect(() => taken(agent)).toThrow(problem);
  });

  test('that has nobody to run ends at once, also a loop without end [flow.empty]', async () => {
    expect((await run(new LoopAgent({ name: 'rounds' }))).events).toEqual([]);
    expect((await run(new ParallelAgent({ name: 'beside', subAgents: [] }))).events).toEqual([]);
    const routed = new RoutedAgent({ name: 'routed', agents: [], router: () => 'one' });
    const errorMessage = expect.stringContaining('Item not found for key: one');
    expect((await run(routed)).events).toMatchObject([{ errorMessage }]);
  });
});
