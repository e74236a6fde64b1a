import type { Content } from '@google/genai';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import type { GatedTurn } from './plan.ts';

export function messageOf({ messageId, steps }: GatedTurn): string {
  const planned = steps.map((step) => step.map(({ tool, args }) => ({ name: tool, args })));
  return JSON.stringify({ messageId, steps: planned });
}

export function answerOf({ messageId }: Pick<GatedTurn, 'messageId'>): string {
  return `done with ${messageId}`;
}

/** Does what the last message says. It counts the steps in the contents, so that a repeated request gets the same answer. */
export const followsMessages: GeminiScript = ({ contents = [] }) => {
  const asked = contents.findLastIndex((content) => textOf(content) !== undefined);
  const message = textOf(contents[asked]);
  if (message === undefined) throw new Error('no message is in the contents');
  const turn: { messageId: string; steps: Parameters<typeof calls>[0][] } = JSON.parse(message);
  const answered = contents
    .slice(asked + 1)
    .filter(({ parts }) => parts?.some((part) => part.functionResponse)).length;
  const step = turn.steps[answered];
  return step === undefined ? text(answerOf(turn)) : calls(step);
};

function textOf(content: Content | undefined): string | undefined {
  if (content?.role !== 'user') return undefined;
  return content.parts?.findLast((part) => part.text)?.text ?? undefined;
}
