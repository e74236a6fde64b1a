import { type CompactedEvent, createCompactedEvent, isCompactedEvent } from '../../events/compacted-event.ts';
import { textOf } from '../../events/content.ts';
import { type Event, stringifyContent } from '../../events/event.ts';
import { type BaseLlm, isBaseLlm } from '../../models/base-llm.ts';
import type { LlmResponse } from '../../models/llm-response.ts';
import { defined } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { kindOf } from '../../schema/kind-of.ts';
import type { BaseSummarizer } from './base-context-compactor.ts';

export interface LlmSummarizerOptions {
  /** The model that summarises. */
  llm: BaseLlm;
  /** Instruction to the model, before the events. @default that of `@google/adk` 2.0.0 */
  prompt?: string;
}

const PROMPT =
  'The following is a conversation history between a user and an AI agent. Please summarize the conversation, focusing on key information and decisions made, as well as any unresolved questions or tasks. The summary should be concise and capture the essence of the interaction.';

/**
 * Has a model summarise events. The call counts as a model call of the turn, with its tokens and its cost. Semantics: the class of
 * `@google/adk` 2.0.0.
 *
 * @throws DefinitionError for a value that is no model
 */
export class LlmSummarizer implements BaseSummarizer {
  readonly #llm: BaseLlm;
  readonly #prompt: string;

  constructor(options: LlmSummarizerOptions) {
    const { llm, prompt = PROMPT } = Object(options) as LlmSummarizerOptions;
    if (!isBaseLlm(llm)) {
      const problem = `expected a model, such as new Gemini({ model }), got ${kindOf(llm)}`;
      throw new DefinitionError({ owner: 'LlmSummarizer', field: 'llm', problem });
    }
    if (typeof prompt !== 'string' || prompt === '') {
      const problem = `expected a text that isn't empty, got ${kindOf(prompt)}`;
      throw new DefinitionError({ owner: 'LlmSummarizer', field: 'prompt', problem });
    }
    this.#llm = llm;
    this.#prompt = prompt;
  }

  /** @throws ModelError, and Error for events that are none and a model that says nothing */
  async summarize(events: Event[], abortSignal?: AbortSignal): Promise<CompactedEvent> {
    const [first] = events;
    const last = events.at(-1);
    if (first === undefined || last === undefined)
      throw new Error('Cannot summarize an empty list of events.');
    const told = events.map(
      (event, index) => `[Event ${index + 1} - Author: ${event.author}]\n${textIn(event)}\n\n`,
    );
    const text = `${this.#prompt}\n\n${told.join('')}`;
    const request = {
      model: this.#llm.model,
      contents: [{ role: 'user', parts: [{ text }] }],
      toolsDict: {},
      config: {},
    };
    let response: LlmResponse | undefined;
    for await (const each of this.#llm.generateContentAsync(request, false, abortSignal)) {
      abortSignal?.throwIfAborted();
      response = each;
    }
    const compactedContent = textOf(response?.content);
    if (compactedContent === '') throw new Error('LLM failed to return a valid summary.');
    const { usageMetadata, modelVersion = this.#llm.model } = response ?? {};
    return createCompactedEvent({
      author: 'system',
      content: { role: 'model', parts: [{ text: compactedContent }] },
      startTime: first.timestamp,
      endTime: last.timestamp,
      compactedContent,
      modelVersion,
      ...defined({ usageMetadata }),
    });
  }
}

function textIn(event: Event): string {
  return isCompactedEvent(event) ? event.compactedContent : stringifyContent(event);
}
