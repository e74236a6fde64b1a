import type { Content } from '../src/events/content.ts';
import { BaseLlm } from '../src/models/base-llm.ts';
import type { LlmResponse } from '../src/models/llm-response.ts';
import type { LlmRequest } from '../src/tools/base-tool.ts';

/** The work of a turn of the bench; its message is this as JSON. */
export interface TurnShape {
  /** Tool calls, one after another or all in one step. */
  calls: number;
  parallel: boolean;
  /** Bytes that each tool returns. */
  resultBytes: number;
}

/** A model in this process that answers at once: the bench measures everything but the model. */
export class FakeLlm extends BaseLlm {
  constructor() {
    super({ model: 'fake' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const asked = contents.findLastIndex(isMessage);
    const shape: TurnShape = JSON.parse(contents[asked]?.parts?.[0]?.text ?? '{}');
    const done = contents
      .slice(asked + 1)
      .reduce((sum, { parts }) => sum + (parts ?? []).filter((part) => part.functionResponse).length, 0);
    const next = shape.parallel ? shape.calls - done : Math.min(1, shape.calls - done);
    const parts =
      next > 0
        ? Array.from({ length: next }, (_, index) => ({
            functionCall: { name: 'work', args: { index: done + index, bytes: shape.resultBytes } },
          }))
        : [{ text: 'done' }];
    yield { content: { role: 'model', parts } };
  }
}

function isMessage({ role, parts }: Content): boolean {
  return role === 'user' && parts?.[0]?.text !== undefined;
}
