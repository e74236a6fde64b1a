import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { AiSdkModel } from '../../../src/models/ai-sdk/ai-sdk-model.ts';
import type { AiSdkModelParams } from '../../../src/models/ai-sdk/language-model.ts';
import { ANTHROPIC_MESSAGES } from './anthropic-messages.ts';
import { OPENAI_CHAT } from './openai-chat.ts';
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
];
