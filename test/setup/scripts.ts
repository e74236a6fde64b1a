import type { Content, FunctionCall } from '@google/genai';
import type { RecordedRequest } from '../../src/testing/gemini-record.ts';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';

/**
 * A model that asks for one list of calls per step and then answers. It counts the steps in the contents that it is
 * sent, so that a repeated request gets the same answer, as after a crash.
 */
export function stepCalls(
  steps: readonly (readonly (FunctionCall & { name: string })[])[],
  answer = 'done',
): GeminiScript {
  return ({ contents }) => {
    const list = contents ?? [];
    const asked = list.findLastIndex(
      ({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined),
    );
    const answered = list
      .slice(asked + 1)
      .filter(({ parts }) => parts?.some((part) => part.functionResponse)).length;
    const step = steps[answered];
    return step === undefined ? text(answer) : calls(step);
  };
}

/** The contents of a request that the mock server recorded. */
export function contentsOf(request: RecordedRequest | undefined): Content[] {
  const contents = request?.body.contents;
  if (!Array.isArray(contents)) throw new Error('there is no such request');
  return contents;
}
