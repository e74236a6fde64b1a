import type { Context } from '../context.ts';
import { RUN_AGAIN } from '../job-options.ts';
import type { McpTaskReference } from './mcp-answer.ts';
import type { MCPConnection } from './mcp-connection.ts';
import { answersOf, askedIn, type McpQuestions } from './mcp-questions.ts';
import { isOver, type McpTask } from './mcp-task.ts';

/** A task, and what its server asks. */
interface SeenTask extends McpTask {
  questions?: McpQuestions;
}

/** Works on a connection to the task's server. */
type Use = <T>(work: (connection: MCPConnection) => Promise<T>) => Promise<T>;

/** A server's task, as one call of a tool sees it: in the tool's run, or in a look at its job, on any worker. */
export class TaskOfCall {
  readonly #reference: McpTaskReference;
  readonly #context: Context;
  readonly #tool: string;
  readonly #use: Use;

  constructor(
    reference: McpTaskReference,
    { context, tool, use }: { context: Context; tool: string; use: Use },
  ) {
    this.#reference = reference;
    this.#context = context;
    this.#tool = tool;
    this.#use = use;
  }

  /**
   * Asks people what the server asks, and gives it their answers, until it asks nothing more. In the tool's run.
   *
   * @throws McpUnavailable, McpRefused
   */
  async asked(): Promise<McpTask> {
    const answered = new Set<string>();
    for (let round = 1; ; round += 1) {
      const seen = await this.#look(round, answered);
      if ('answer' in seen) return seen.answer;
      const { inputResponses = {} } = await answersOf(seen.kept, this.#context, this.#tool);
      const update = async () => {
        await this.#update(inputResponses);
        return true;
      };
      await (this.#context.functionCallId === undefined
        ? update()
        : this.#context.once(answeredKey(round), update));
      for (const key of Object.keys(inputResponses)) answered.add(key);
    }
  }

  /**
   * Looks at the task, for a poll of its job. The questions that it sees are recorded, for the run to ask: a server that asks polls alone, and no run,
   * would have the two follow each other without end.
   *
   * @returns RUN_AGAIN where people are to be asked.
   * @throws McpUnavailable, McpRefused
   */
  async polled(): Promise<McpTask | typeof RUN_AGAIN> {
    const answered = new Set<string>();
    for (let round = 1; ; round += 1) {
      const seen = await this.#look(round, answered);
      if ('answer' in seen) return seen.answer;
      if ((await recordedBefore(this.#context, answeredKey(round))) === undefined) return RUN_AGAIN;
      for (const key of Object.keys(seen.kept.inputRequests)) answered.add(key);
    }
  }

  /** @throws McpUnavailable, McpRefused */
  async cancel(): Promise<void> {
    await this.#use((connection) => connection.cancelTask(this.#reference));
  }

  async #task(): Promise<McpTask> {
    return await this.#use((connection) => connection.task(this.#reference));
  }

  /** A task that has ended while a person was asked takes no answer: the next look finds its result. */
  async #update(inputResponses: object): Promise<void> {
    try {
      await this.#use((connection) => connection.updateTask(this.#reference, inputResponses));
    } catch (error) {
      if (!isOver(await this.#task())) throw error;
    }
  }

  async #look(round: number, answered: ReadonlySet<string>) {
    return await recorded(this.#context, roundKey(round), () => this.#seen(round, answered), questionsOf);
  }

  /** A server may ask for what it was told a moment ago. */
  async #seen(round: number, answered: ReadonlySet<string>): Promise<SeenTask> {
    const task = await this.#task();
    if (task.status !== 'input_required') return task;
    const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.has(key));
    if (open.length === 0) return task;
    const asking = { resultType: 'input_required', inputRequests: Object.fromEntries(open) };
    const questions = askedIn(asking, round);
    return questions === undefined ? task : { ...task, questions };
  }
}

function roundKey(round: number): string {
  return `mcp/task/${round}`;
}

function answeredKey(round: number): string {
  return `${roundKey(round)}/answered`;
}

function questionsOf({ questions }: SeenTask): McpQuestions | undefined {
  return questions;
}

/** Thrown where nothing is to be recorded. */
const NOTHING_KEPT = Symbol('nothing kept');

/** An answer of a server; the part of it that is to be kept is recorded, and no later attempt asks again. */
export async function recorded<Answer, Kept>(
  context: Context,
  key: string,
  ask: () => Promise<Answer>,
  keep: (answer: Answer) => Kept | undefined,
): Promise<{ kept: Kept } | { answer: Answer }> {
  let other: { answer: Answer } | undefined;
  const asked = async () => {
    const answer = await ask();
    const kept = keep(answer);
    if (kept !== undefined) return kept;
    other = { answer };
    throw NOTHING_KEPT;
  };
  try {
    return { kept: await (context.functionCallId === undefined ? asked() : context.once(key, asked)) };
  } catch (error) {
    if (error === NOTHING_KEPT && other !== undefined) return other;
    throw error;
  }
}

/** The record of an earlier attempt. */
export async function recordedBefore<Kept>(context: Context, key: string): Promise<Kept | undefined> {
  try {
    return await context.once<Kept>(key, () => {
      throw NOTHING_KEPT;
    });
  } catch (error) {
    if (error === NOTHING_KEPT) return undefined;
    throw error;
  }
}
