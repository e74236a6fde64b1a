import type { Blob, Content } from '@google/genai';
import type { LlmResponse } from './llm-response.ts';

/**
 * An open connection to a live model. Declared so that model classes of ADK programs compile, whose `connect` returns one;
 * Holdfast never opens any. Methods: `BaseLlmConnection` of `@google/adk` 2.0.0.
 */
export interface BaseLlmConnection {
  sendHistory(history: Content[]): Promise<void>;
  sendContent(content: Content): Promise<void>;
  sendRealtime(blob: Blob): Promise<void>;
  sendActivityStart?(): Promise<void>;
  sendActivityEnd?(): Promise<void>;
  receive(): AsyncGenerator<LlmResponse, void, void>;
  close(): Promise<void>;
}
