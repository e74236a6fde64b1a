import { randomUUID } from 'node:crypto';
import { isRecord } from '../../protocol/json.ts';
import type { Context } from '../context.ts';
import { InvalidArgumentsError } from '../tool-error.ts';
import { asHeader, queryPairs } from './serialize-parameters.ts';

type Json = Record<string, unknown>;

export interface WrittenBody {
  contentType: string;
  body: string | Uint8Array;
}

/** Bytes of a body, files among them: they are in memory. */
const MOST_BYTES = 32 * 1024 * 1024;

/** `a=1&b=2`: properties that are objects are JSON, unless `encoding` gives a style. */
export function formBody(value: unknown, encoding: Readonly<Record<string, Json>>): string {
  if (!isRecord(value)) return queryPairs(plain(''), value).join('&');
  const pairs = Object.entries(value).flatMap(([originalName, member]) => {
    const { style, explode, allowReserved, contentType } = ownOf(encoding, originalName);
    const isStyled = typeof style === 'string' || typeof explode === 'boolean';
    return queryPairs(
      {
        originalName,
        style: typeof style === 'string' ? style : 'form',
        explode: typeof explode === 'boolean' ? explode : style === undefined || style === 'form',
        allowReserved: allowReserved === true,
        ...(!isStyled && isWrittenAsJson(member, contentType) ? { contentType: 'application/json' } : {}),
      },
      member,
    );
  });
  // As forms of HTML are written.
  return pairs.join('&').replaceAll('%20', '+');
}

function plain(originalName: string) {
  return { originalName, style: 'form', explode: true, allowReserved: false };
}

function isWrittenAsJson(value: unknown, contentType: unknown): boolean {
  return isRecord(value) || (typeof contentType === 'string' && contentType.startsWith('application/json'));
}

function ownOf(encoding: Readonly<Record<string, Json>>, name: string): Json {
  const own = Object.hasOwn(encoding, name) ? encoding[name] : undefined;
  return isRecord(own) ? own : {};
}

/** A form with files: `isFile` says which properties are some. */
export async function multipartBody(
  value: Json,
  {
    encoding,
    isFile,
    context,
  }: { encoding: Readonly<Record<string, Json>>; isFile: (name: string) => boolean; context: Context },
): Promise<WrittenBody> {
  const boundary = `holdfast-${randomUUID()}`;
  const chunks: Uint8Array[] = [];
  const add = (
    name: string,
    { type, filename, body }: { type?: string; filename?: string; body: Uint8Array },
  ) => {
    const head = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${dispositionText(name)}"${filename === undefined ? '' : `; filename="${dispositionText(filename)}"`}`,
      ...(type === undefined ? [] : [`Content-Type: ${asHeader(name, type)}`]),
    ];
    chunks.push(Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body, Buffer.from('\r\n'));
  };
  let left = MOST_BYTES;
  for (const [name, member] of Object.entries(value)) {
    const { contentType } = ownOf(encoding, name);
    for (const each of Array.isArray(member) ? member : [member]) {
      if (each === undefined || each === null) continue;
      if (isFile(name)) {
        const { bytes, mimeType, filename } = await fileOf(each, context, left);
        left -= bytes.length;
        add(name, { body: bytes, filename: filename ?? name, type: mimeType });
        continue;
      }
      const isJson = typeof each === 'object' || isWrittenAsJson(undefined, contentType);
      const given = typeof contentType === 'string' && !contentType.includes(',') ? contentType : undefined;
      const type = given ?? (isJson ? 'application/json' : undefined);
      const text = isJson ? JSON.stringify(each) : String(each);
      add(name, { body: Buffer.from(text), ...(type === undefined ? {} : { type }) });
    }
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(chunks) };
}

/** As forms of HTML escape names. */
function dispositionText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll('"', '%22')
    .replaceAll('\r', '%0D')
    .replaceAll('\n', '%0A')
    .replaceAll('\0', '%00');
}

interface FileBytes {
  bytes: Uint8Array;
  mimeType: string;
  filename?: string;
}

/**
 * The bytes that a file argument names.
 *
 * @throws InvalidArgumentsError where it names none, or too many.
 */
export async function fileOf(value: unknown, context: Context, most = MOST_BYTES): Promise<FileBytes> {
  const given: Json = isRecord(value) ? value : { text: typeof value === 'string' ? value : undefined };
  const { artifact, text, base64, filename, mime_type: type } = given;
  const sources = [artifact, text, base64].filter((source) => typeof source === 'string');
  if (sources.length !== 1) throw new InvalidArgumentsError('a file: give one of artifact, text and base64');
  const named = typeof filename === 'string' && filename !== '' ? { filename } : {};
  const mimeType = typeof type === 'string' && type !== '' ? type : undefined;
  if (typeof artifact === 'string') {
    const opened = await context.openArtifact(artifact);
    if (opened?.bytes === undefined)
      throw new InvalidArgumentsError(
        `a file: the session has no artifact ${JSON.stringify(artifact.slice(0, 100))}`,
      );
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of opened.bytes) {
      size += chunk.length;
      if (size > most) throw tooLarge(most);
      chunks.push(chunk);
    }
    return {
      bytes: Buffer.concat(chunks),
      mimeType: mimeType ?? opened.mimeType ?? 'application/octet-stream',
      filename: artifact.split('/').at(-1) ?? artifact,
      ...named,
    };
  }
  // The decoder leaves out what it doesn't know.
  if (typeof base64 === 'string' && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64.replaceAll(/\s/g, '')))
    throw new InvalidArgumentsError('a file: base64 has characters that it never has');
  const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64), 'base64');
  if (bytes.length > most) throw tooLarge(most);
  const usual = typeof text === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream';
  return { bytes, mimeType: mimeType ?? usual, ...named };
}

function tooLarge(most: number): InvalidArgumentsError {
  return new InvalidArgumentsError(`a file: it has more than the ${most} bytes that a request may have`);
}
