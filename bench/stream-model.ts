import { reply, text } from '../src/testing/gemini-reply.ts';
import { startMockGemini } from '../src/testing/mock-gemini.ts';

/** An answer of the bench; the message that asks for it is this as JSON. */
export interface AnswerShape {
  words: number;
  /** Milliseconds between two chunks of four words. */
  chunkDelayMs: number;
}

/** A mock model, in a process of its own: its cost is in no figure. Tells its address and ends with it. */
const gemini = await startMockGemini({
  script: (_, { userText }) => {
    const { words, chunkDelayMs }: AnswerShape = JSON.parse(userText);
    const answer = Array.from({ length: words }, (__, index) => `w${index}`).join(' ');
    return reply(text(answer), { chunkDelayMs, wordsPerChunk: 4 });
  },
});
process.once('disconnect', () => void gemini.close());
process.send?.(gemini.env);
