import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, test } from 'vitest';
import type { Content, Part } from '../../../src/events/content.ts';
import { AiSdkModel } from '../../../src/models/ai-sdk/ai-sdk-model.ts';
import { Gemini } from '../../../src/models/gemini.ts';
import { startMockGemini, text } from '../../../src/testing/index.ts';
import { WIRE_PROVIDERS } from '../../setup/wire/providers.ts';
import { WireServer } from '../../setup/wire/wire-server.ts';
import { ask, request, userText } from '../ask.ts';

const aiSdk = { provider: 'openai.responses', model: 'gpt-5', metadata: { openai: { itemId: 'x' } } };
const foreign = (part: Part): Part => ({ ...part, partMetadata: { aiSdk, mine: 1 } });

/** A turn that another model has begun, up to the result of its call. */
const begun: Content[] = [
  userText('Hi'),
  {
    role: 'model',
    parts: [
      foreign({ text: 'secret thought', thought: true }),
      { partMetadata: { aiSdk: { ...aiSdk, content: { type: 'custom', kind: 'openai.x' } } } },
      foreign({ functionCall: { name: 'look', args: {}, id: 'call_1' } }),
    ],
  },
  { role: 'user', parts: [{ functionResponse: { name: 'look', id: 'call_1', response: { a: 1 } } }] },
];
const config = { tools: [{ functionDeclarations: [{ name: 'look' }] }] };

describe('a turn goes on with another model', () => {
  test.each(['gemini-2.5-flash', 'gemini-3-pro-preview'])(
    '%s gets no foreign thought, and calls that it takes [model.aiSdk.change]',
    async (model) => {
      await using mock = await startMockGemini({ script: [text('ok')] });
      const gemini = new Gemini({ model, apiKey: 'key', httpOptions: { baseUrl: mock.url } });
      const contents = structuredClone(begun);
      await ask(gemini, request({ contents, config }));
      expect(mock.refusals).toEqual([]);
      expect(contents).toEqual(begun);
      const sent = mock.requests[0]?.body.contents as Content[];
      expect(sent[1]?.parts).toMatchObject([
        {
          functionCall: { name: 'look' },
          partMetadata: { mine: 1 },
          ...(model.startsWith('gemini-3') && { thoughtSignature: 'skip_thought_signature_validator' }),
        },
      ]);
      expect(JSON.stringify(sent)).not.toMatch(/secret|aiSdk/);
    },
  );

  test('Anthropic does not think in a step about a call that has no thoughts of its own [model.aiSdk.change]', async () => {
    const anthropic = WIRE_PROVIDERS.find(({ name }) => name === 'anthropic.messages');
    if (anthropic === undefined) throw new Error('there is no Anthropic');
    await using server = await WireServer.start(anthropic.protocol, () => ({ reasoning: 'own', text: 'ok' }));
    const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } };
    for (const [options, thinkingConfig] of [
      [thinking, undefined],
      [{}, { thinkingBudget: 8_000 }],
    ] as const) {
      const model = anthropic.model(server.url, { providerOptions: options });
      server.reset(() => ({ reasoning: 'own', text: 'ok' }));
      const more = { ...config, ...(thinkingConfig && { thinkingConfig }) };
      await ask(model, request({ contents: structuredClone(begun), config: more }));
      const [answer] = await ask(model, request({ contents: [userText('Hi')], config: more }));
      expect(server.refusals).toEqual([]);
      expect(
        server.requests.map(
          ({ thinking: asked }) => (asked as { type?: string } | undefined)?.type ?? 'disabled',
        ),
      ).toEqual(['disabled', 'enabled']);
      const next = [userText('Hi'), answer?.content as Content, userText('And?')];
      await ask(model, request({ contents: next, config: more }));
      expect(JSON.stringify(server.requests.at(-1)?.messages)).toContain('"signature"');
      expect(server.refusals).toEqual([]);
    }
  });

  test.each([
    ['anthropic.messages', 'claude-sonnet-4-5', 'anthropic', 'thinking'],
    ['amazon-bedrock', 'us.anthropic.claude-sonnet-4-5-v1:0', 'bedrock', 'reasoningConfig'],
  ])(
    'Claude of %s does not think until the turn ends in which another model called [model.aiSdk.change]',
    async (provider, modelId, name, field) => {
      const own = (part: Part): Part => ({ ...part, partMetadata: { aiSdk: { provider, model: modelId } } });
      const called = (id: string, ...parts: Part[]): Content[] => [
        { role: 'model', parts: [...parts, own({ functionCall: { name: 'look', args: {}, id } })] },
        { role: 'user', parts: [{ functionResponse: { name: 'look', id, response: { a: 1 } } }] },
      ];
      const thought = own({ text: 'hm', thought: true });
      const answer: Content = { role: 'model', parts: [{ text: 'done' }] };
      for (const [contents, thinks] of [
        [[...begun, ...called('b')], false],
        [[...begun, ...called('b', thought), ...called('c')], false],
        [[...begun, answer, userText('And?')], true],
        [[userText('Hi'), ...called('a', thought), ...called('b')], true],
        [[userText('Hi'), ...called('a')], false],
      ] as const) {
        const model = new MockLanguageModelV4({
          ...{ provider, modelId },
          doGenerate: {
            content: [],
            finishReason: { unified: 'stop', raw: 'stop' },
            usage: {},
            warnings: [],
          } as never,
        });
        const type = { type: 'enabled', budgetTokens: 2_000 };
        const asked = new AiSdkModel({ model, providerOptions: { [name]: { [field]: type } } });
        await ask(asked, request({ contents: [...contents], config }));
        const { providerOptions, reasoning } = model.doGenerateCalls[0] ?? {};
        expect(providerOptions?.[name]?.[field]).toEqual(thinks ? type : { type: 'disabled' });
        expect(reasoning).toBe(thinks ? undefined : 'none');
      }
    },
  );
});
