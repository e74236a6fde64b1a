import type { OpenedArtifact } from '../../artifacts/context-artifacts.ts';
import { type FoundLine, FoundLines } from '../../artifacts/found-lines.ts';
import { MOST_SEARCHED, NOT_SEARCHED } from '../../artifacts/json-path.ts';
import type { JsonAnswer, JsonQuery } from '../../artifacts/json-query-thread.ts';
import { Breath, linesOf } from '../../artifacts/text-lines.ts';
import { moduleFile } from '../../own-files.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { linearPattern } from '../../schema/linear-pattern.ts';
import { answerOfThread } from '../../schema/thread-answer.ts';
import type { BaseTool } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { ToolError } from '../tool-error.ts';
import { type GrepOptions, queryTools, type SpooledQueries, type TextAnswer } from './query-tools.ts';
import { formOf, type SpooledForm } from './spool-options.ts';

/** Names of spooled results begin so. */
export const SPOOLED_FOLDER = 'results/';

/** Characters of text, or of JSON, that one query answers with. */
const MOST_ANSWER = 12_000;
/** Bytes that hold them, of UTF-8. */
const MOST_ANSWER_BYTES = 4 * MOST_ANSWER;
/** Bytes of a document that is parsed as a whole. */
const MOST_PARSED = 16 * 1024 * 1024;
/** Characters of one search, each times the steps of its pattern: 10 s of a processor at most. */
const MOST_WORK = 150_000_000;
/** Work for a character that is only passed. */
const PASSED = 0.3;
/** Mebibytes. */
const MOST_HEAP = 1_024;
const CSV_SAMPLE = 64 * 1024;

/**
 * A tool's large result, kept as an artifact, and the queries of it. A model asks them by the tools that
 * {@link SpooledArtifact.forgeTools} makes; code asks them itself. Bytes are read as they are needed, but of JSON: `jsonpath` and `schema` parse
 * documents of at most 16 MiB.
 *
 * @example
 * const orders = await SpooledArtifact.open(context, response.artifact);
 * await orders.grep('FH-\\d+', { limit: 5 });
 */
export class SpooledArtifact implements SpooledQueries {
  readonly name: string;
  readonly version: number;
  readonly mimeType: string;
  /** Size. */
  readonly bytes: number;
  /** Whether its tool is `trusted`, where the app marks that; else false. */
  readonly trusted: boolean;
  readonly #context: Context;

  constructor(context: Context, name: string, opened: OpenedArtifact) {
    this.#context = context;
    this.name = name;
    this.version = opened.version;
    this.mimeType = opened.mimeType ?? 'application/octet-stream';
    this.bytes = opened.size ?? 0;
    this.trusted = opened.trusted === true;
  }

  /** @throws ToolError (not retryable) for a name that no spooled result of the session has. */
  static async open(context: Context, name: string): Promise<SpooledArtifact> {
    const isSpooled = name.startsWith(SPOOLED_FOLDER);
    const opened = isSpooled ? await context.openArtifact(name, { start: 0, end: 0 }) : undefined;
    if (opened === undefined)
      throw refused(`no result has the name ${JSON.stringify(name.slice(0, 100).toWellFormed())}`);
    return new this(context, name, opened);
  }

  /**
   * The tools by which a model queries spooled results of these forms. A class that extends this one may have more of them.
   *
   * @param forms default: all
   */
  static forgeTools(forms?: ReadonlySet<SpooledForm>): readonly BaseTool[] {
    // biome-ignore lint/complexity/noThisInStatic: the tools open artifacts of the class that forges them.
    return queryTools((context, name) => this.open(context, name), forms);
  }

  get form(): SpooledForm {
    return formOf(this.mimeType);
  }

  /** The first lines. */
  async head(lines = 20): Promise<TextAnswer> {
    this.#assertText('head');
    const { text, isCut } = firstLines(await this.#text(0, MOST_ANSWER_BYTES), lines);
    return answer(text, isCut || this.bytes > MOST_ANSWER_BYTES);
  }

  /** The last lines. */
  async tail(lines = 20): Promise<TextAnswer> {
    this.#assertText('tail');
    const start = Math.max(this.bytes - MOST_ANSWER_BYTES, 0);
    const text = await this.#text(start, this.bytes);
    const all = text.replace(/\r?\n$/, '').split('\n');
    const kept = all.slice(-lines).join('\n');
    const isCut = all.length > lines || start > 0;
    return kept.length <= MOST_ANSWER
      ? { text: kept, ...(isCut ? { truncated: true } : {}) }
      : { text: kept.slice(-MOST_ANSWER).toWellFormed(), truncated: true };
  }

  /** Lines by number, from 1. @param to the last one */
  async lines(from: number, to: number): Promise<TextAnswer> {
    this.#assertText('lines');
    const breath = this.#breath();
    let text = '';
    let last = 0;
    for await (const some of linesOf(this.#read())) {
      for (const line of some) {
        if (!(await breath.take(PASSED * (1 + line.text.length))))
          throw refused('there are too many lines before these; use slice');
        if (line.number > to) return answer(text, true);
        if (line.number < from) continue;
        text += `${last === 0 || last === line.number ? '' : '\n'}${line.text}`;
        last = line.number;
        if (text.length > MOST_ANSWER) return answer(text, true);
      }
    }
    if (last === 0) throw refused(`there is no line ${from}`);
    return answer(text, false);
  }

  /** Bytes as text; those of binary results in base64. @param end byte after the last one */
  async slice(start: number, end: number): Promise<TextAnswer & { base64?: true }> {
    if (this.form === 'binary') {
      const last = Math.min(end, start + Math.floor(MOST_ANSWER * 0.75));
      const bytes = await this.#bytes(start, last);
      return { text: bytes.toString('base64'), base64: true, ...(last < end ? { truncated: true } : {}) };
    }
    return answer(
      await this.#text(start, Math.min(end, start + MOST_ANSWER_BYTES)),
      end - start > MOST_ANSWER_BYTES,
    );
  }

  /**
   * Lines that match a pattern, in an engine whose time grows with the text and the pattern only. Look-around, references back, and patterns
   * of more than 500 steps are refused. A line of more than 4,000 characters is searched in pieces. A search of much text ends early, and says
   * where: `searchedTo`.
   *
   * @param pattern as JavaScript and JSON Schema write it
   */
  async grep(
    pattern: string,
    { ignoreCase = false, context = 0, limit = 50, from = 1 }: GrepOptions = {},
  ): Promise<{ matches: FoundLine[]; truncated?: true; searchedTo?: number }> {
    this.#assertText('grep');
    const compiled = linearPattern(pattern, { ignoreCase, mostSteps: MOST_SEARCHED });
    if (compiled === undefined) throw refused(NOT_SEARCHED);
    const found = new FoundLines({ context, limit, characters: MOST_ANSWER });
    const breath = this.#breath();
    let at = from;
    for await (const some of linesOf(this.#read())) {
      for (const line of some) {
        const steps = line.number < from ? PASSED : compiled.size;
        if (!(await breath.take(steps * (1 + line.text.length))))
          return { ...found.answer, truncated: true, searchedTo: at };
        if (line.number < from) continue;
        at = line.number;
        if (!found.add(line, compiled.test(line.text)))
          return { ...found.answer, truncated: true, searchedTo: at - 1 };
      }
    }
    return found.answer;
  }

  /** The places of a JSON document that a path of RFC 9535 names. */
  async jsonpath(path: string): Promise<{ matches: unknown[]; truncated?: true }> {
    return await this.#asked<{ matches: unknown[]; truncated?: true }>('jsonpath', { path });
  }

  /** The shape: a JSON Schema of JSON, the columns of CSV. */
  async schema(): Promise<Record<string, unknown>> {
    if (this.form === 'csv') {
      const { text } = firstLines(await this.#text(0, CSV_SAMPLE), 4);
      const [header = '', ...rows] = text.split('\n');
      const separator = ['\t', ';', ','].find((sign) => header.includes(sign)) ?? ',';
      return {
        columns: header.split(separator),
        separator,
        firstRows: rows.map((row) => row.slice(0, MOST_ANSWER / 8)),
      };
    }
    return await this.#asked<Record<string, unknown>>('schema', {});
  }

  async #asked<Found>(query: string, about: Pick<JsonQuery, 'path'>): Promise<Found> {
    if (this.form !== 'json') throw refused(`${query} reads JSON, and ${this.name} is ${this.mimeType}`);
    if (this.bytes > MOST_PARSED) {
      throw refused(
        `${this.name} has ${this.bytes} bytes; ${query} reads at most ${MOST_PARSED}: use grep, lines or slice`,
      );
    }
    const document = () => this.#bytes(0, this.bytes);
    const answered = await inJsonThread(document, about, this.#context.abortSignal);
    if ('problem' in answered) throw refused(`${this.name}: ${answered.problem}`);
    return answered.found as Found;
  }

  #assertText(query: string): void {
    if (this.form === 'binary')
      throw refused(`${query} reads text, and ${this.name} is ${this.mimeType}; use slice`);
  }

  #breath(): Breath {
    return new Breath(MOST_WORK, this.#context.abortSignal);
  }

  async #text(start: number, end: number): Promise<string> {
    const bytes = await this.#bytes(start, end);
    // A slice may begin and end inside of a character.
    const from =
      start === 0
        ? 0
        : Math.max(
            bytes.subarray(0, 4).findIndex((byte) => (byte & 0xc0) !== 0x80),
            0,
          );
    return new TextDecoder('utf-8', { ignoreBOM: false }).decode(bytes.subarray(from), {
      stream: end < this.bytes,
    });
  }

  async #bytes(start: number, end: number): Promise<Buffer> {
    const read: Uint8Array[] = [];
    for await (const block of this.#read(start, end)) read.push(block);
    return Buffer.concat(read);
  }

  async *#read(start = 0, end = this.bytes): AsyncGenerator<Uint8Array, void, void> {
    const { version } = this;
    const opened = await this.#context.openArtifact(this.name, { version, start, end });
    if (opened?.bytes === undefined) throw refused(`${this.name} was deleted`);
    yield* opened.bytes;
  }
}

let lastAsked: Promise<unknown> = Promise.resolve();

/** One at a time, read and answered: a model may ask many, and each may take all of a processor for seconds. */
async function inJsonThread(
  document: () => Promise<Uint8Array>,
  about: Pick<JsonQuery, 'path'>,
  signal: AbortSignal,
): Promise<JsonAnswer> {
  const thread = moduleFile('src/artifacts/json-query-thread');
  const asked = lastAsked.then(async () => {
    signal.throwIfAborted();
    const query: JsonQuery = { ...about, bytes: await document(), most: MOST_ANSWER };
    return await answerOfThread<JsonAnswer>(thread, query, { heap: MOST_HEAP, signal });
  });
  lastAsked = Promise.allSettled([asked]);
  try {
    return await asked;
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof ToolError) throw cause;
    throw refused(`the query can't be answered: ${messageOf(cause)}; ask for less at once`);
  }
}

function firstLines(text: string, count: number): { text: string; isCut: boolean } {
  let end = -1;
  for (let line = 0; line < count; line += 1) {
    const next = text.indexOf('\n', end + 1);
    if (next === -1) return { text, isCut: false };
    end = next;
  }
  return { text: text.slice(0, end), isCut: end + 1 < text.length };
}

function answer(text: string, isCut: boolean): TextAnswer {
  if (text.length > MOST_ANSWER) return { text: text.slice(0, MOST_ANSWER).toWellFormed(), truncated: true };
  return { text, ...(isCut ? { truncated: true } : {}) };
}

function refused(problem: string): ToolError {
  return new ToolError(problem, { code: 'HOLDFAST_INVALID_QUERY', retryable: false });
}
