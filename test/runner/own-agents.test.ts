import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  BaseAgent,
  type BaseAgentConfig,
  createEvent,
  type Event,
  InMemorySessionService,
  type InvocationContext,
  LlmAgent,
  Runner,
  type RunParams,
  setLogger,
  stringifyContent,
} from '../../src/index.ts';
import { call, startMockGemini, text } from '../../src/testing/index.ts';

const gemini = await startMockGemini({ script: [] });
Object.assign(process.env, gemini.env);

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
