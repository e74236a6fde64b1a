import type { Content, Part } from '../events/content.ts';
import { isBlank } from './empty-part.ts';

const HEADER: Part = { text: 'For context:' };

/**
 * What another agent said, called and got, as it is told to an agent: a user's content. Media stays; thoughts, which
 * `@google/adk` 2.0.0 passes on as the agent's own, and empty texts are left out. Undefined where nothing is left. Texts:
 * `convertForeignEvent` there.
 */
export function retoldContent(author: string, { parts = [] }: Content): Content | undefined {
  const retold = parts.flatMap((part) => retoldPart(author, part));
  return retold.length === 0 ? undefined : { role: 'user', parts: [HEADER, ...retold] };
}

/** The answer to another agent's call that came with a message. */
export function retoldResponse(author: string, response: Part): Part[] {
  return [HEADER, ...retoldPart(author, response)];
}

/** Whether {@link retoldContent} has something to tell. */
export function isTellable({ parts = [] }: Content): boolean {
  return parts.some((part) => !part.thought && !isEmpty(part));
}

function retoldPart(author: string, part: Part): Part[] {
  const { text, functionCall, functionResponse } = part;
  if (part.thought || isEmpty(part)) return [];
  if (text) return [{ text: `[${author}] said: ${text}` }];
  if (functionCall !== undefined) {
    const args = json(functionCall.args);
    return [{ text: `[${author}] called tool \`${functionCall.name}\` with parameters: ${args}` }];
  }
  if (functionResponse !== undefined) {
    const response = json(functionResponse.response);
    return [{ text: `[${author}] tool \`${functionResponse.name}\` returned result: ${response}` }];
  }
  // A signature is only good with the model that gave it, and in its own content.
  const { thoughtSignature: _signature, ...media } = part;
  return [part.thoughtSignature === undefined ? part : media];
}

function isEmpty(part: Part): boolean {
  return part.text === '' || isBlank(part);
}

function json(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {});
}
