import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AiSdkModel } from '../../../src/models/ai-sdk/ai-sdk-model.ts';
import type { AiSdkModelParams } from '../../../src/models/ai-sdk/language-model.ts';
import { ANTHROPIC_MESSAGES } from './anthropic-messages.ts';
import { BEDROCK_CONVERSE } from './bedrock-converse.ts';
import { MISTRAL_CHAT } from './mistral-chat.ts';
import { COMPATIBLE_CHAT, OPENAI_CHAT } from './openai-chat.ts';
import { OPENAI_RESPONSES } from './openai-responses.ts';
import type { WireProtocol } from './wire-server.ts';

type More = Partial<Omit<AiSdkModelParams, 'model'>>;

interface WireProvider {
  name: string;
  protocol: WireProtocol;
  /** Whether it reasons, and wants its reasoning back. */
  reasons: boolean;
  model(url: string, more?: More & { id?: string; apiKey?: string }): AiSdkModel;
}

/** The real packages, on servers that speak their provider's protocol. */
export const WIRE_PROVIDERS: readonly WireProvider[] = [
  {
    name: 'openai.responses',
    protocol: OPENAI_RESPONSES,
    reasons: true,
    model: (baseURL, { id = 'gpt-5', apiKey = 'test-key-of-openai', ...more } = {}) =>
      new AiSdkModel({ model: createOpenAI({ baseURL, apiKey })(id), ...more }),
  },
  {
    name: 'openai.chat',
    protocol: OPENAI_CHAT,
    reasons: false,
    model: (baseURL, { id = 'gpt-4.1', apiKey = 'test-key-of-openai', ...more } = {}) =>
      new AiSdkModel({ model: createOpenAI({ baseURL, apiKey }).chat(id), ...more }),
  },
  {
    name: 'anthropic.messages',
    protocol: ANTHROPIC_MESSAGES,
    reasons: true,
    model: (baseURL, { id = 'claude-sonnet-4-5', apiKey = 'test-key-of-anthropic', ...more } = {}) =>
      new AiSdkModel({ model: createAnthropic({ baseURL, apiKey })(id), ...more }),
  },
  {
    name: 'mistral.chat',
    protocol: MISTRAL_CHAT,
    reasons: true,
    model: (baseURL, { id = 'magistral-medium-latest', apiKey = 'test-key-of-mistral', ...more } = {}) =>
      new AiSdkModel({ model: createMistral({ baseURL, apiKey })(id), ...more }),
  },
  {
    name: 'compatible.chat',
    protocol: COMPATIBLE_CHAT,
    reasons: true,
    model: (baseURL, { id = 'qwen3', apiKey = 'test-key-of-compatible', ...more } = {}) => {
      const settings = { name: 'compatible', includeUsage: true, supportsStructuredOutputs: true };
      return new AiSdkModel({ model: createOpenAICompatible({ ...settings, baseURL, apiKey })(id), ...more });
    },
  },
  {
    name: 'amazon-bedrock',
    protocol: BEDROCK_CONVERSE,
    reasons: true,
    model: (
      baseURL,
      { id = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', apiKey = 'test-key-of-bedrock', ...more } = {},
    ) =>
      new AiSdkModel({
        model: createAmazonBedrock({ baseURL, apiKey, region: 'eu-central-1' })(id),
        ...more,
      }),
  },
];
