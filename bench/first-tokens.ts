import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AiSdkModel } from '../src/models/ai-sdk/ai-sdk-model.ts';
import { ANTHROPIC_MESSAGES } from '../test/setup/wire/anthropic-messages.ts';
import { OPENAI_CHAT } from '../test/setup/wire/openai-chat.ts';
import { OPENAI_RESPONSES } from '../test/setup/wire/openai-responses.ts';
import { WireServer } from '../test/setup/wire/wire-server.ts';
import { median, table } from './statistics.ts';

/** First token through `AiSdkModel` against the same model of the provider package read directly, on a server of this process. */
const ROUNDS = 200;
/** Milliseconds. */
const REACH = 30;

const text = Array.from({ length: 50 }, (_, index) => `word ${index} `);
const MODELS = [
  {
    name: 'OpenAI, Responses',
    protocol: OPENAI_RESPONSES,
    model: (baseURL: string) => createOpenAI({ baseURL, apiKey: 'test-key-of-openai' })('gpt-5'),
  },
  {
    name: 'OpenAI, Chat Completions',
    protocol: OPENAI_CHAT,
    model: (baseURL: string) => createOpenAI({ baseURL, apiKey: 'test-key-of-openai' }).chat('gpt-4.1'),
  },
  {
    name: 'Anthropic',
    protocol: ANTHROPIC_MESSAGES,
    model: (baseURL: string) =>
      createAnthropic({ baseURL, apiKey: 'test-key-of-anthropic' })('claude-sonnet-4-5'),
  },
];

async function directly(model: LanguageModelV4): Promise<number> {
  const began = performance.now();
  const { stream } = await model.doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    ...(model.provider === 'openai.responses' && { providerOptions: { openai: { store: false } } }),
  });
  let first = 0;
  for await (const part of stream)
    if (first === 0 && part.type === 'text-delta') first = performance.now() - began;
  return first;
}

async function through(model: AiSdkModel): Promise<number> {
  const began = performance.now();
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  let first = 0;
  for await (const { partial } of model.generateContentAsync({ contents, toolsDict: {} }, true)) {
    if (first === 0 && partial) first = performance.now() - began;
  }
  return first;
}

/** @returns the table. */
export async function benchFirstTokens(): Promise<string> {
  const rows = [['first token', 'package, ms', 'AiSdkModel, ms', 'more, ms', '<= 30 ms more']];
  for (const { name, protocol, model: modelAt } of MODELS) {
    await using server = await WireServer.start(protocol, () => ({ text }));
    const model = modelAt(server.url);
    const ours = new AiSdkModel({ model });
    const times: { direct: number[]; ours: number[] } = { direct: [], ours: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      const direct = await directly(model);
      const own = await through(ours);
      // The first ones load and compile.
      if (round < ROUNDS / 10) continue;
      times.direct.push(direct);
      times.ours.push(own);
    }
    const [direct, own] = [median(times.direct), median(times.ours)];
    const more = own - direct;
    rows.push([
      name,
      direct.toFixed(2),
      own.toFixed(2),
      more.toFixed(2),
      more <= REACH ? 'reached' : 'missed',
    ]);
  }
  return table(rows);
}
