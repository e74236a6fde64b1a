import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { MOST_HELD } from '../../contract/lists.ts';
import { isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { formatDuration } from '../../schema/duration.ts';
import { type Context, questionsOf } from '../context.ts';
import { heldInput } from '../input-request.ts';
import { McpRefused } from './mcp-errors.ts';
import { assertShort, elicitationOf, type McpElicited } from './mcp-questions.ts';

/** Characters of a reason that a model is told. */
const LONGEST_REASON = 300;
const MOST_REASONS = 5;

/** In `_meta` of a request of 2025-11-25 that belongs to a task. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** A call that its server may ask something about before it answers. */
export interface AskedByServer {
  /** Answers a question that a server of 2025 asks on the open connection. */
  onQuestion: (params: Record<string, unknown>, signal: AbortSignal) => Promise<McpElicited>;
  /** Hears of a question that may be this call's, and is declined. */
  onDeclined: (reason: string) => void;
}

/** The calls of one connection, by which a question finds its own: it names none. */
export class CallsUnderWay {
  readonly #calls = new Set<AskedByServer>();
  /** The call in whose answer a message comes. */
  readonly #answered = new AsyncLocalStorage<AskedByServer>();
  readonly #closing = new AbortController();

  async run<T>(call: AskedByServer, work: () => Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await this.#answered.run(call, work);
    } finally {
      this.#calls.delete(call);
    }
  }

  /**
   * Over HTTP a question comes in the answer to its call; elsewhere it is that of the only call. Where there are several, and for a task,
   * it is declined.
   */
  async asked(params: Record<string, unknown>, signal: AbortSignal): Promise<McpElicited> {
    const isOfTask = isRecord(params._meta) && params._meta[RELATED_TASK] !== undefined;
    const [only, another] = this.#calls;
    const call = this.#answered.getStore() ?? (another === undefined ? only : undefined);
    if (call !== undefined && !isOfTask && this.#calls.has(call))
      return await call.onQuestion(params, AbortSignal.any([signal, this.#closing.signal]));
    if (!isOfTask)
      for (const each of this.#calls) each.onDeclined('several calls were under way on its connection');
    return { action: 'decline' };
  }

  /** The server hears that its questions are cancelled, before the connection ends. */
  async close(): Promise<void> {
    if (this.#calls.size === 0) return;
    this.#closing.abort();
    await setImmediate();
  }
}

/** Questions that a server of 2025 asks in one call, on the open connection: the call's activity waits for the answers. */
export class McpElicitations {
  readonly #context: Context;
  readonly #tool: string;
  readonly #within: number;
  /** Fires when the call has ended: its questions go with it. */
  readonly #over = new AbortController();
  readonly #unanswered: string[] = [];
  #asked = 0;

  /** @param within milliseconds; 0 declines each question at once. */
  constructor(context: Context, { tool, within }: { tool: string; within: number }) {
    this.#context = context;
    this.#tool = tool;
    this.#within = within;
  }

  /** For the model: questions that nobody has answered, and why. Undefined where there are none. */
  get notice(): string | undefined {
    if (this.#unanswered.length === 0) return undefined;
    return `The server asked a person something, and was told that the answer is declined: ${this.#unanswered.join('; ')}.`;
  }

  close(): void {
    // An abort makes an error with its stack, for each call.
    if (this.#asked > 0) this.#over.abort();
  }

  /** @param signal fires when the server doesn't wait any more, or can't be told. */
  async answer(params: Record<string, unknown>, signal: AbortSignal): Promise<McpElicited> {
    const { abortSignal } = this.#context;
    const over = AbortSignal.any([signal, this.#over.signal, abortSignal]);
    this.#asked += 1;
    try {
      if (over.aborted) return { action: 'cancel' };
      if (this.#asked > MOST_HELD) return this.declined(`more than ${MOST_HELD} questions in one call`);
      if (this.#within === 0) return this.declined('questions are declined here (elicitationTimeout: 0)');
      assertShort(params);
      const { question, told } = elicitationOf(params, this.#tool);
      const questions = questionsOf(this.#context);
      const held = heldInput(questions, question, { within: this.#within, signal: over });
      // The connection may end: the server hears of it at once, and the question is taken back after that.
      const answer = await Promise.race([held, cancelledBy(over)]);
      switch (answer.status) {
        case 'answered':
          return told(answer.response);
        case 'expired':
          return this.declined(`nobody answered in time (at most ${formatDuration(this.#within)})`);
        case 'refused':
          return this.declined(answer.reason);
        case 'cancelled':
          return { action: 'cancel' };
      }
    } catch (error) {
      if (over.aborted) return { action: 'cancel' };
      const isOfServer = error instanceof McpRefused || error instanceof DefinitionError;
      return this.declined(isOfServer ? error.message : 'nobody could be asked');
    }
  }

  declined(reason: string): McpElicited {
    const text = visibleExcerpt(reason, LONGEST_REASON);
    if (!this.#unanswered.includes(text) && this.#unanswered.length < MOST_REASONS)
      this.#unanswered.push(text);
    return { action: 'decline' };
  }
}

async function cancelledBy(signal: AbortSignal): Promise<{ status: 'cancelled' }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  return { status: 'cancelled' };
}
