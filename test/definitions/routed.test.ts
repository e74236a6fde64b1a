import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { isRoutedAgent, RoutedAgent, type RoutedAgentConfig } from '../../src/agents/routed-agent.ts';
import {
  answeringModels,
  isRoutedLlm,
  type LlmRouter,
  RoutedLlm,
  type RoutedLlmParams,
} from '../../src/agents/routed-llm.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import { Gemini } from '../../src/models/gemini.ts';
import type { ModelRequest } from '../../src/models/llm-request.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import { ask, failure, request } from '../models/ask.ts';

const agent = (name: string) => new LlmAgent({ name, model: 'gemini-2.5-flash' });
const router = () => 'one';

describe('a routed agent', () => {
  test.each<[string, object, RegExp]>([
    ['no agents', { agents: undefined }, /agents: expected agents, in a list or by key/],
    ['something else as an agent', { agents: { one: {} } }, /agents\["one"\]: expected an agent, got object/],
    ['two of one name', { agents: [agent('one'), agent('one')] }, /two agents are named "one"/],
    ['no router', { agents: [agent('one')], router: undefined }, /router: expected a function/],
  ])('with %s is refused [agent.routed.definition]', (_name, config, message) => {
    const make = () => new RoutedAgent({ name: 'desk', router, ...config } as unknown as RoutedAgentConfig);
    expect(make).toThrow(DefinitionError);
    expect(make).toThrow(message);
  });

  test('has its agents as sub-agents, and a clone has clones under the same keys [agent.routed.definition]', async () => {
    const asked: unknown[] = [];
    const choose: RoutedAgentConfig['router'] = (agents) => {
      asked.push(Object.entries(agents).map(([key, { name }]) => [key, name]));
      return undefined;
    };
    const desk = new RoutedAgent({
      name: 'desk',
      agents: { a: agent('one'), b: agent('two') },
      router: choose,
    });
    const clone = desk.clone({ name: 'other' });
    expect(desk.subAgents.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(clone.subAgents.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(clone.subAgents.some((each) => desk.subAgents.includes(each))).toBe(false);
    expect([isRoutedAgent(desk), isRoutedAgent(clone), isRoutedAgent(agent('x'))]).toEqual([
      true,
      true,
      false,
    ]);
    const context = { invocationContext: { session: { events: [] } } } as never;
    for (const each of [desk, clone])
      await expect(each.next(context, undefined, [])).rejects.toThrow('Initial routing failed');
    expect(asked).toEqual([
      [
        ['a', 'one'],
        ['b', 'two'],
      ],
      [
        ['a', 'one'],
        ['b', 'two'],
      ],
    ]);
  });
});

class Scripted extends BaseLlm {
  readonly asked: (string | undefined)[] = [];
  readonly #answers: (LlmResponse | Error)[];

  constructor(model: string, ...answers: (LlmResponse | Error)[]) {
    super({ model });
    this.#answers = answers;
  }

  override async *generateContentAsync({ model }: ModelRequest): AsyncGenerator<LlmResponse, void> {
    this.asked.push(model);
    for (const answer of this.#answers) {
      if (answer instanceof Error) throw answer;
      yield answer;
    }
  }
}

const said = (text: string): LlmResponse => ({ content: { role: 'model', parts: [{ text }] } });
const broken = new ModelError({ kind: 'unavailable', message: 'down' });

describe('a routed model', () => {
  test.each<[string, object, RegExp]>([
    ['no models', { models: 'gemini' }, /models: expected models, in a list or by key/],
    ['a name as a model', { models: { one: 'gemini' } }, /models\["one"\]: expected a BaseLlm, got string/],
    ['two of one name', { models: [new Gemini(), new Gemini()] }, /two models are named "gemini-2.5-flash"/],
    ['no router', { models: [new Gemini()], router: 1 }, /router: expected a function, got number/],
    ['an unknown option', { models: [new Gemini()], name: 'x' }, /unknown option/],
  ])('with %s is refused [agent.routed.definition]', (_name, params, message) => {
    const make = () => new RoutedLlm({ router, ...params } as unknown as RoutedLlmParams);
    expect(make).toThrow(DefinitionError);
    expect(make).toThrow(message);
  });

  test('asks each model by its own name, and tells the route of the innermost [model.routed]', async () => {
    const [bad, good] = [new Scripted('m-bad', broken), new Scripted('m-good', said('hi'))];
    const choose: LlmRouter = (_models, _request, errors) => (errors === undefined ? 'bad' : 'good');
    const inner = new RoutedLlm({ models: { bad, good }, router: choose });
    const outer = new RoutedLlm({ models: { inner }, router: () => 'inner', modelName: 'outer' });
    expect([inner.model, outer.model]).toEqual(['RoutedLlm[bad (m-bad), good (m-good)]', 'outer']);
    expect(answeringModels(outer)).toEqual([bad, good]);
    expect([isRoutedLlm(outer), isRoutedLlm(good)]).toEqual([true, false]);
    const [response] = await ask(outer);
    expect([bad.asked, good.asked]).toEqual([['m-bad'], ['m-good']]);
    expect(response?.customMetadata?.route).toMatchObject({
      key: 'inner',
      model: 'm-good',
      within: { key: 'good', failed: [{ key: 'bad', code: 'HOLDFAST_MODEL_UNAVAILABLE' }] },
    });
  });

  test('asks for the model that a callback names, whose the route and the price are [model.routed] [model.routed.price]', async () => {
    const one = new Scripted('m-one', said('hi'));
    const routed = new RoutedLlm({ models: { one }, router });
    const [response] = await ask(routed, request({ model: 'm-other' }));
    expect(one.asked).toEqual(['m-other']);
    expect(response?.customMetadata?.route).toEqual({ key: 'one', model: 'm-other' });
  });

  test('does not fall back where something was said, or the call was aborted [model.routed]', async () => {
    const spare = new Scripted('spare', said('spare'));
    const first = (...answers: (LlmResponse | Error)[]) =>
      new RoutedLlm({
        models: { first: new Scripted('first', ...answers), spare },
        router: (_models, _request, errors) => (errors === undefined ? 'first' : 'spare'),
      });
    const begun = await failure(first({ ...said('be'), partial: true }, broken), undefined, { stream: true });
    expect(begun.error).toMatchObject({ kind: 'unavailable' });
    const aborted = await failure(first(new ModelError({ kind: 'aborted', message: 'x' })));
    expect(aborted.error).toMatchObject({ kind: 'aborted' });
    expect(spare.asked).toEqual([]);
    const unclassed = await ask(first(new TypeError('fetch failed')));
    expect(unclassed[0]?.content?.parts).toEqual([{ text: 'spare' }]);
  });

  test.each<[string, LlmRouter, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('lost');
      },
      /router of .* failed: lost/,
    ],
    ['names nobody', () => 'nobody', /Item not found for key: nobody/],
    ['names what objects inherit', () => 'constructor', /Item not found/],
    ['returns a number', () => 7 as never, /expected a key of its models, got number/],
    ['returns nothing', () => undefined, /Initial routing failed/],
  ])('whose router %s fails for good [model.routed]', async (_name, choose, message) => {
    const { error } = await failure(
      new RoutedLlm({ models: { a: new Scripted('a', said('x')) }, router: choose }),
    );
    expect(error).toMatchObject({ retryable: false, message: expect.stringMatching(message) });
  });
});
