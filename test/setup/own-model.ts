import { BaseLlm } from '../../src/models/base-llm.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';

/** A model as users write them: what it says is up to each test, and not checked by anybody. */
export class OwnModel extends BaseLlm {
  /** Requests so far. */
  asked = 0;
  respond: (request: LlmRequest) => Promise<unknown>;

  constructor(respond: OwnModel['respond'] = async () => saying('fine')) {
    super({ model: 'own-model' });
    this.respond = respond;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.asked++;
    yield (await this.respond(request)) as LlmResponse;
  }
}

export function saying(text: string): LlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

export const never = (): Promise<never> => new Promise(() => {});
