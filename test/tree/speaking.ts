import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import type { Content } from '../../src/events/content.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';

type Reply = string | LlmResponse | ((request: LlmRequest) => string | LlmResponse | Promise<LlmResponse>);

/** An agent that says the next of its replies each time its model is asked, and keeps what the model was shown. */
export class Speaking {
  readonly agent: LlmAgent;
  /** Contents of each request. */
  readonly shown: Content[][] = [];
  /** System instructions of each request. */
  readonly told: string[] = [];
  replies: readonly Reply[];

  constructor(name: string, replies: readonly Reply[], config: Omit<LlmAgentConfig, 'name' | 'model'> = {}) {
    this.replies = replies;
    const model = new OwnModel(async (request) => {
      const reply = this.replies[Math.min(this.shown.length, this.replies.length - 1)];
      this.shown.push(structuredClone(request.contents));
      this.told.push(String(request.config?.systemInstruction ?? ''));
      const said = typeof reply === 'function' ? await reply(request) : (reply ?? 'nothing');
      return typeof said === 'string' ? saying(said) : said;
    });
    this.agent = new LlmAgent({ name, model, ...config });
  }
}

export function calling(...calls: { name: string; args?: Record<string, unknown> }[]): LlmResponse {
  return {
    content: { role: 'model', parts: calls.map(({ name, args = {} }) => ({ functionCall: { name, args } })) },
  };
}

/** All texts of contents, one after another. */
export function textsOf(contents: readonly Content[] = []): string[] {
  return contents.flatMap(({ parts = [] }) => parts.flatMap(({ text }) => (text ? [text] : [])));
}
