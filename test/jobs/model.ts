import type { Content } from '@google/genai';
import type { FunctionResponse } from '../../src/events/content.ts';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript, MockGemini } from '../../src/testing/mock-gemini.ts';
import type { JobOrder, JobToolName } from '../setup/job-apps.ts';
import { contentsOf } from '../setup/scripts.ts';

export interface PlannedOrder {
  name: JobToolName;
  args: JobOrder;
}

/** What a message has its model do: each step's calls, one step after the other. */
export interface OrderMessage {
  session: string;
  steps: readonly (readonly PlannedOrder[])[];
  /** When all has ended: the session. */
  closing?: string;
}

/**
 * A model that does what the last message says, each step once: what lies between a call and its late response is not in the
 * contents that end with that, so that they don't say which step comes next.
 */
export function followsOrders(): GeminiScript {
  const asked = new Set<string>();
  return ({ contents = [] }) => {
    const last = contents.findLastIndex((content) => messageIn(content) !== undefined);
    const message = messageIn(contents[last]);
    if (message === undefined) throw new Error('no message is in the contents');
    const answered = contents
      .slice(last + 1)
      .filter(({ parts }) => parts?.some((part) => part.functionResponse)).length;
    const step = message.steps[answered] ?? [];
    const numbers = JSON.stringify([message.session, ...step.map(({ args }) => args.n)]);
    if (step.length === 0 || asked.has(numbers)) return text('done');
    asked.add(numbers);
    return calls(step.map(({ name, args }) => ({ name, args: { ...args } })));
  };
}

/**
 * What the model was told last of each order of a session: all responses that its contents had, by the order's number.
 *
 * @param closing what it was told with that message; else whatever was last.
 */
export function seenByModel(
  gemini: MockGemini,
  session: string,
  closing?: string,
): Map<number, FunctionResponse[]> {
  const request = gemini.requests.findLast((one) => {
    const contents = contentsOf(one);
    if (closing !== undefined) return messageIn(contents.at(-1))?.closing === closing;
    return contents.some((content) => messageIn(content)?.session === session);
  });
  const seen = new Map<number, FunctionResponse[]>();
  const contents = request === undefined ? [] : contentsOf(request);
  for (const [index, { parts = [] }] of contents.entries()) {
    const asked = parts.flatMap(({ functionCall }) => functionCall ?? []);
    const told = (contents[index + 1]?.parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);
    for (const [place, { args }] of asked.entries()) {
      const n = Number(args?.n);
      const response = told[place];
      seen.set(n, [...(seen.get(n) ?? []), ...(response === undefined ? [] : [response])]);
    }
  }
  return seen;
}

/** Whether it is the message that a session ends with. */
export function isClosing(content: Content | undefined): boolean {
  return messageIn(content)?.closing !== undefined;
}

function messageIn(content: Content | undefined): OrderMessage | undefined {
  if (content?.role !== 'user') return undefined;
  const said = content.parts?.findLast((part) => part.text)?.text;
  return said?.startsWith('{') ? JSON.parse(said) : undefined;
}
