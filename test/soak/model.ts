import type { Content } from '@google/genai';
import { calls, error, reply, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { fillerOf, seededRandom } from '../setup/soak-random.ts';
import type { PlannedSoakCall, SoakTurn } from './plan.ts';

const LONGEST_LATENCY = 150;

export function messageOf(turn: SoakTurn): string {
  return JSON.stringify(turn);
}

export function answerOf({ messageId }: SoakTurn): string {
  return `done with ${messageId}`;
}

/** Arguments of a planned call, as the model sends them. */
export function argumentsOf(messageId: string, { n, before, after, give, send }: PlannedSoakCall) {
  return { n, before, after, give, text: fillerOf(`${messageId} ${n}`, send) };
}

/** What was asked of the model, counted outside of the processes that are killed. */
export class SoakModel {
  /** By message id and step: requests that were answered, and that were refused as planned. */
  readonly #answered = new Map<string, number>();
  readonly #refused = new Map<string, number>();
  readonly #waiting = new Map<string, () => void>();

  readonly script: GeminiScript = ({ contents }) => {
    const turn = turnOf(contents);
    const step = stepOf(contents);
    const key = `${turn.messageId} ${step}`;
    const { outage } = turn;
    this.#waiting.get(turn.messageId)?.();
    const latencyMs = seededRandom(key).between(0, LONGEST_LATENCY);
    const refused = this.#refused.get(key) ?? 0;
    if (outage?.step === step && refused < outage.times) {
      this.#refused.set(key, refused + 1);
      return reply(error(outage.status, 'as planned', { retryAfterMs: 200 }), { latencyMs });
    }
    this.#answered.set(key, (this.#answered.get(key) ?? 0) + 1);
    const planned = turn.steps[step];
    const answer =
      planned === undefined
        ? text(answerOf(turn))
        : calls(planned.map((call) => ({ name: call.tool, args: argumentsOf(turn.messageId, call) })));
    return reply(answer, { latencyMs });
  };

  answered(messageId: string): number {
    return sumOf(this.#answered, messageId);
  }

  refused(messageId: string): number {
    return sumOf(this.#refused, messageId);
  }

  /** Resolves when the model is asked about a message. */
  asked(messageId: string, signal: AbortSignal): Promise<void> {
    if (this.answered(messageId) + this.refused(messageId) > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.set(messageId, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

function turnOf(contents: readonly Content[]): SoakTurn {
  const asked = contents.findLast(({ role, parts }) => role === 'user' && parts?.some((part) => part.text));
  const message = asked?.parts?.findLast((part) => part.text)?.text;
  if (message === undefined) throw new Error('no message is in the contents');
  return JSON.parse(message);
}

/** Counts the answered steps behind the last message, so that a repeated request gets the same answer. */
function stepOf(contents: readonly Content[]): number {
  const asked = contents.findLastIndex(
    ({ role, parts }) => role === 'user' && parts?.some((part) => part.text),
  );
  return contents.slice(asked + 1).filter(({ parts }) => parts?.some((part) => part.functionResponse)).length;
}

function sumOf(counts: ReadonlyMap<string, number>, messageId: string): number {
  let sum = 0;
  for (const [key, count] of counts) if (key.startsWith(`${messageId} `)) sum += count;
  return sum;
}
