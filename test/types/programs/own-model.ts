import {
  BaseLlm,
  type BaseLlmConnection,
  LLMRegistry,
  type LlmRequest,
  type LlmResponse,
  type LlmRouter,
  RoutedLlm,
} from '@google/adk';
import type { Content } from '@google/genai';

class NoConnection implements BaseLlmConnection {
  async sendHistory(_history: Content[]): Promise<void> {}
  async sendContent(_content: Content): Promise<void> {}
  async sendRealtime(): Promise<void> {}
  async *receive(): AsyncGenerator<LlmResponse, void, void> {}
  async close(): Promise<void> {}
}

export class Parrot extends BaseLlm {
  static override readonly supportedModels = [/^parrot-.*/];

  override async *generateContentAsync(
    llmRequest: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    this.maybeAppendUserContent(llmRequest);
    if (abortSignal?.aborted) return;
    const parts = llmRequest.contents.at(-1)?.parts ?? [];
    if (stream) yield { content: { role: 'model', parts }, partial: true };
    yield { content: { role: 'model', parts }, turnComplete: true, customMetadata: { model: this.model } };
  }

  override async connect(_llmRequest: LlmRequest): Promise<BaseLlmConnection> {
    return new NoConnection();
  }
}

LLMRegistry.register(Parrot);

export const request: LlmRequest = { model: 'parrot-1', contents: [], toolsDict: {}, liveConnectConfig: {} };

function hasTool(llmRequest: LlmRequest, name: string): boolean {
  return llmRequest.toolsDict[name]?.isLongRunning === false;
}

const byTools: LlmRouter = (models, llmRequest: LlmRequest, errorContext) => {
  const free = Object.keys(models).filter((key) => !errorContext?.failedKeys.has(key));
  return hasTool(llmRequest, 'find_order') ? free[0] : free.at(-1);
};

export const routed = new RoutedLlm({ models: [new Parrot({ model: 'parrot-1' })], router: byTools });
export const unannotated = new RoutedLlm({
  models: { small: new Parrot({ model: 'parrot-1' }), large: new Parrot({ model: 'parrot-2' }) },
  router: async (_models, llmRequest) => (hasTool(llmRequest, 'find_order') ? 'large' : 'small'),
});
