import type { OpenedArtifact } from '../../artifacts/context-artifacts.ts';
import { type FoundLine, FoundLines } from '../../artifacts/found-lines.ts';
import { outlineOf, queryJson } from '../../artifacts/json-path.ts';
import { Breath, linesOf } from '../../artifacts/text-lines.ts';
import { linearPattern } from '../../schema/linear-pattern.ts';
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
const MOST_MATCHES = 1_000;
/** Milliseconds of one search. */
const SEARCH_TIME = 20_000;
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
      if (!(await breath.take())) throw refused('there are too many lines before these; use slice');
      for (const line of some) {
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
   * Lines that match a pattern, in an engine whose time grows with the text only. Look-around and references back are refused. A line of more
   * than 4,000 characters is searched in pieces.
   *
   * @param pattern as JavaScript and JSON Schema write it
   */
  async grep(
    pattern: string,
    { ignoreCase = false, context = 0, limit = 50, from = 1 }: GrepOptions = {},
  ): Promise<{ matches: FoundLine[]; truncated?: true; searchedTo?: number }> {
    this.#assertText('grep');
    const compiled = linearPattern(pattern, { ignoreCase });
    if (compiled === undefined) {
      throw refused(
        'this is no pattern that is searched in linear time: leave out look-around and back references',
      );
    }
    const found = new FoundLines({ context, limit, characters: MOST_ANSWER });
    const breath = this.#breath();
    let n = 0;
    let at = from;
    for await (const some of linesOf(this.#read())) {
      for (const line of some) {
        n += 1;
        if (n % 64 === 0 && !(await breath.take()))
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
    const document = await this.#document('jsonpath');
    const found = queryJson(document, path, MOST_MATCHES);
    if ('problem' in found) throw refused(found.problem);
    const { matches, isCut } = found;
    const kept: unknown[] = [];
    let characters = 0;
    for (const match of matches) {
      const { length } = JSON.stringify(match);
      if (characters + length > MOST_ANSWER) {
        if (kept.length > 0) return { matches: kept, truncated: true };
        throw refused(
          `the first match, ${match.path}, has ${length} characters, more than the ${MOST_ANSWER} of an answer; name places inside of it`,
        );
      }
      characters += length;
      kept.push(match);
    }
    return { matches: kept, ...(isCut ? { truncated: true } : {}) };
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
    const schema = outlineOf(await this.#document('schema'));
    const { length } = JSON.stringify(schema);
    if (length <= MOST_ANSWER) return schema;
    throw refused(
      `the schema has ${length} characters, more than the ${MOST_ANSWER} of an answer; use jsonpath or head`,
    );
  }

  async #document(query: string): Promise<unknown> {
    if (this.form !== 'json') throw refused(`${query} reads JSON, and ${this.name} is ${this.mimeType}`);
    if (this.bytes > MOST_PARSED) {
      throw refused(
        `${this.name} has ${this.bytes} bytes; ${query} reads at most ${MOST_PARSED}: use grep, lines or slice`,
      );
    }
    try {
      return JSON.parse((await this.#bytes(0, this.bytes)).toString());
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw refused(
        `${this.name} is not the JSON that its type ${this.mimeType} says; use grep, lines or slice`,
      );
    }
  }

  #assertText(query: string): void {
    if (this.form === 'binary')
      throw refused(`${query} reads text, and ${this.name} is ${this.mimeType}; use slice`);
  }

  #breath(): Breath {
    return new Breath(SEARCH_TIME, this.#context.abortSignal);
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
