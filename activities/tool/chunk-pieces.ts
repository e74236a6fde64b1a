import { cutToBytes } from '../../src/flows/cut-to-bytes.ts';
import { JsonValueError, toJsonValue } from '../../src/schema/json-value.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import type { ToolChunk as ToldChunk } from '../../src/store/store.ts';
import type { ToolChunk } from '../../src/tools/base-tool.ts';

/** Of one notice's content, error and metadata as JSON: what PostgreSQL's NOTIFY carries, with room for the names around it. */
export const MOST_BYTES = 7 * 1024;

const MOST_ERROR_BYTES = 1024;
const MOST_METADATA_BYTES = 2 * 1024;

/** Bytes of JSON that one byte of UTF-8 may become: `\\u0000`. */
const LONGEST_ESCAPE = 6;

/** Names and punctuation of the three fields. */
const FRAME_BYTES = 64;

/** What one notice tells of a streaming tool. */
export type ChunkPiece = Pick<ToldChunk, 'content' | 'error' | 'metadata'>;

/**
 * A chunk in pieces that a notice carries each. Text is split; other JSON that is too large, and what is no JSON, is replaced by
 * a word about it: followers get hints, and the call's response has it all.
 */
export function piecesOf({ content, error, metadata }: ToolChunk): ChunkPiece[] {
  const beside = { ...errorOf(error), ...metadataOf(metadata) };
  const room = MOST_BYTES - FRAME_BYTES - jsonBytes(beside);
  if (typeof content === 'string') {
    const texts = splitText(content, room);
    const last = texts.pop() ?? '';
    return [...texts.map((text) => ({ content: text })), { content: last, ...beside }];
  }
  if (content === undefined && Object.keys(beside).length === 0) return [];
  return [{ content: sendable(content, room), ...beside }];
}

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Cuts between characters, so that each text takes at most `room` bytes of JSON, its quotes aside. */
function splitText(text: string, room: number): string[] {
  if (text.length * LONGEST_ESCAPE <= room) return [text];
  const texts: string[] = [];
  let from = 0;
  let at = 0;
  let bytes = 0;
  for (const character of text) {
    const more = jsonBytesOf(character);
    if (bytes + more > room) {
      texts.push(text.slice(from, at));
      from = at;
      bytes = 0;
    }
    bytes += more;
    at += character.length;
  }
  texts.push(text.slice(from));
  return texts;
}

/** Of one character within a text. */
function jsonBytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return '\b\t\n\f\r'.includes(character) ? 2 : LONGEST_ESCAPE;
  if (code < 0x80) return character === '"' || character === '\\' ? 2 : 1;
  if (code < 0x800) return 2;
  if (code >= 0x10000) return 4;
  return character.isWellFormed() ? 3 : LONGEST_ESCAPE;
}

function errorOf(error: unknown): Pick<ChunkPiece, 'error'> {
  if (error === undefined || error === null) return {};
  return { error: cutToBytes(String(error), MOST_ERROR_BYTES / LONGEST_ESCAPE) };
}

function metadataOf(metadata: unknown): Pick<ChunkPiece, 'metadata'> {
  if (!isRecord(metadata)) return {};
  const sent = sendable(metadata, MOST_METADATA_BYTES);
  return isRecord(sent) ? { metadata: sent } : {};
}

function sendable(value: unknown, room: number): unknown {
  try {
    const json = toJsonValue(value) ?? null;
    const bytes = jsonBytes(json);
    return bytes <= room ? json : { omitted: `${bytes} bytes of JSON` };
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    return { omitted: cutToBytes(`no JSON: ${error.message}`, 256) };
  }
}
