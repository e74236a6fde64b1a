import type { Content } from '@google/genai';
import type { BaseLlm } from '../../src/models/base-llm.ts';
import { Gemini, type GeminiParams } from '../../src/models/gemini.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';

export function userText(text: string): Content {
  return { role: 'user', parts: [{ text }] };
}

export function request(more: Partial<LlmRequest> = {}): LlmRequest {
  return { contents: [userText('Hi')], toolsDict: {}, ...more };
}

export function geminiAt(baseUrl: string, params: GeminiParams = {}): Gemini {
  const { httpOptions, ...rest } = params;
  return new Gemini({ apiKey: 'test-key', httpOptions: { baseUrl, ...httpOptions }, ...rest });
}

interface AskOptions {
  stream?: boolean;
  signal?: AbortSignal;
}

export async function ask(
  model: BaseLlm,
  llmRequest: LlmRequest = request(),
  { stream = false, signal }: AskOptions = {},
): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(llmRequest, stream, signal)) {
    responses.push(response);
  }
  return responses;
}

/** The responses that came before the failure, and the failure. */
export async function failure(
  model: BaseLlm,
  llmRequest: LlmRequest = request(),
  { stream = false, signal }: AskOptions = {},
): Promise<{ error: ModelError; responses: LlmResponse[] }> {
  const responses: LlmResponse[] = [];
  try {
    for await (const response of model.generateContentAsync(llmRequest, stream, signal)) {
      responses.push(response);
    }
  } catch (error) {
    if (error instanceof ModelError) return { error, responses };
    throw error;
  }
  throw new Error('The call was expected to fail.');
}
