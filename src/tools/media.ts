import { isUtf8 } from 'node:buffer';
import { types } from 'node:util';
import type { Part } from '../events/content.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { InvalidResultError } from './tool-error.ts';

const MEDIA = Symbol.for('holdfast.media');

/** Limit of requests and ledger rows: base64 makes a third more of it. */
const MOST_BYTES = 10 * 1024 * 1024;

const MIME_TYPE = /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*(?:\s*;.*)?$/i;

export interface MediaParams {
  /**
   * `image/png`. A model that doesn't read the type refuses the request, and each later one of the session, which has the data
   * too. Of `application/octet-stream` the type is told from the data.
   */
  mimeType: string;
  data: Uint8Array;
  /** Told to the model beside the data. */
  name?: string;
  /** The source that vouches for it, in words of the app; told to the model beside the data. */
  trustTier?: string;
}

/**
 * An image, a sound, a document as a tool's result: the model gets the data as a part after the response.
 *
 * @throws InvalidResultError naming the field.
 * @example
 * execute: async ({ city }) => new Media({ mimeType: 'image/png', data: await draw(city), name: `${city}.png` })
 */
export class Media {
  readonly [MEDIA] = true;
  readonly mimeType: string;
  readonly data: Uint8Array;
  readonly name?: string;
  readonly trustTier?: string;

  constructor(params: MediaParams) {
    if (!isRecord(params)) {
      throw new InvalidResultError(`Media: expected an object with mimeType and data, got ${kindOf(params)}`);
    }
    const { mimeType, data, name, trustTier }: MediaParams = params;
    if (typeof mimeType !== 'string' || !MIME_TYPE.test(mimeType)) {
      throw new InvalidResultError(
        `Media: mimeType: expected a type like 'image/png', got ${typeof mimeType === 'string' ? 'other text' : kindOf(mimeType)}`,
      );
    }
    if (!types.isUint8Array(data)) {
      throw new InvalidResultError(
        `Media: data: expected a Uint8Array, got ${kindOf(data)}${typeof data === 'string' ? "; give Buffer.from(text, 'base64')" : ''}`,
      );
    }
    for (const [field, value] of Object.entries({ name, trustTier })) {
      if (value === undefined || (typeof value === 'string' && value !== '')) continue;
      throw new InvalidResultError(
        `Media: ${field}: expected a text that isn't empty, got ${value === '' ? "''" : kindOf(value)}`,
      );
    }
    this.mimeType = mimeType;
    this.data = data;
    if (name !== undefined) this.name = name;
    if (trustTier !== undefined) this.trustTier = trustTier;
  }
}

/** A result that is JSON with media after it. Its `media` name those that no model reads. */
export class ResponseWithMedia {
  readonly response: Record<string, unknown>;
  readonly media: readonly Media[];

  constructor(response: Record<string, unknown>, media: readonly Media[]) {
    this.response = response;
    this.media = media;
  }
}

/** Whether `value` is a {@link Media}, of this or of another copy of the package. */
export function isMedia(value: unknown): value is Media {
  return typeof value === 'object' && value !== null && MEDIA in value && value[MEDIA] === true;
}

/** A result that is data: its description in the response, and the parts after the response. */
export interface MediaResult {
  response: Record<string, unknown>;
  parts: Part[];
  /** Data that no model reads. */
  omitted?: Part[];
  /** Each has a tier; left out where there is more than media. */
  trusted?: boolean;
}

/**
 * Turns a `Uint8Array`, a {@link Media}, or a list of them into a tool's result; undefined for any other result. Data whose type is
 * found from its bytes is sent where models read that type, and is `omitted` otherwise: it would have them refuse this request and
 * all later ones.
 *
 * @param most bytes in sum
 * @throws InvalidResultError for more of them, for data of no bytes, and for lists that hold other things too.
 */
export function mediaOf(value: unknown, most = MOST_BYTES): MediaResult | undefined {
  if (value instanceof ResponseWithMedia) {
    const {
      response = { media: [] },
      parts = [],
      omitted,
    } = value.media.length === 0 ? {} : describedMedia(value.media, most);
    const left = response.media.filter((each) => each.omitted === true);
    const told = left.length === 0 ? value.response : { ...value.response, media: left };
    return { response: told, parts, ...defined({ omitted }) };
  }
  return isMediaResult(value) ? describedMedia(value, most) : undefined;
}

function describedMedia(value: unknown, most: number) {
  const media = (Array.isArray(value) ? value : [value]).map(asMedia);
  const bytes = media.reduce((sum, { data }) => sum + data.byteLength, 0);
  if (bytes > most) {
    throw new InvalidResultError(
      `the result has ${bytes} bytes of media, at most ${most} can be sent; save it by context.saveArtifact instead`,
    );
  }
  return {
    response: {
      media: media.map(({ mimeType, data, isSent, name, trustTier }) => ({
        mimeType,
        bytes: data.byteLength,
        ...(isSent ? {} : { omitted: true as const }),
        ...defined({ name, trustTier }),
      })),
    },
    parts: media.flatMap(({ mimeType, data, isSent }) => (isSent ? [partOf(mimeType, data)] : [])),
    trusted: media.every(({ trustTier }) => trustTier !== undefined),
    ...(media.every(({ isSent }) => isSent)
      ? {}
      : { omitted: media.flatMap(({ mimeType, data, isSent }) => (isSent ? [] : [partOf(mimeType, data)])) }),
  };
}

/** A copy of media: the tool may go on changing its own. */
export function mediaCopy(value: Uint8Array | Media | readonly (Uint8Array | Media)[]): unknown {
  if (Array.isArray(value)) return value.map((piece) => (isPiece(piece) ? mediaCopy(piece) : piece));
  if (types.isUint8Array(value)) return new Uint8Array(value);
  const media = new Media(value as Media);
  return new Media({ ...media, data: new Uint8Array(media.data) });
}

/** Whether {@link mediaOf} takes the value, or refuses it with a reason. */
export function isMediaResult(value: unknown): value is Uint8Array | Media | readonly (Uint8Array | Media)[] {
  return isPiece(value) || (Array.isArray(value) && value.some(isPiece));
}

function isPiece(value: unknown): value is Uint8Array | Media {
  return types.isUint8Array(value) || isMedia(value);
}

interface SendableMedia extends MediaParams {
  isSent: boolean;
}

function asMedia(value: unknown, index: number): SendableMedia {
  if (!isPiece(value)) {
    throw new InvalidResultError(
      `the result's [${index}]: expected media like the others, got ${kindOf(value)}`,
    );
  }
  // Its fields may have been changed, or be those of another copy of the package.
  const media = types.isUint8Array(value) ? { mimeType: UNKNOWN_TYPE, data: value } : new Media(value);
  if (media.data.byteLength === 0) {
    throw new InvalidResultError('the result is media without a byte, which no model takes');
  }
  const [type = ''] = media.mimeType.toLowerCase().split(';');
  if (type.trim() !== UNKNOWN_TYPE) return { ...media, isSent: true };
  const mimeType = typeOfData(media.data);
  return { ...media, mimeType, isSent: isReadByModels(mimeType) };
}

function partOf(mimeType: string, data: Uint8Array): Part {
  return {
    inlineData: {
      mimeType,
      data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
    },
  };
}

/** The type of data that doesn't name its type. */
const UNKNOWN_TYPE = 'application/octet-stream';

/** Types that are told from the data and that Gemini reads; it refuses requests with others, GIF for one. */
const READ: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'application/pdf',
  'audio/wav',
  'audio/mp3',
  'text/plain',
]);

const SIGNATURES: readonly (readonly [type: string, start: string, at8?: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
  ['image/webp', 'RIFF', 'WEBP'],
  ['audio/wav', 'RIFF', 'WAVE'],
  ['application/pdf', '%PDF-'],
  ['audio/mp3', 'ID3'],
];

/** The type of data by how it begins; UTF-8 without NUL characters is text. {@link UNKNOWN_TYPE} for anything else. */
function typeOfData(data: Uint8Array): string {
  const start = Buffer.from(data.subarray(0, 12)).toString('latin1');
  const known = SIGNATURES.find(
    ([, signature, at8 = '']) => start.startsWith(signature) && start.startsWith(at8, 8),
  );
  if (known !== undefined) return known[0];
  if (isMp3Frame(data)) return 'audio/mp3';
  return isUtf8(data) && !data.includes(0) ? 'text/plain' : UNKNOWN_TYPE;
}

/** Whether data of a type that was told from it is sent to models. */
function isReadByModels(type: string): boolean {
  return READ.has(type);
}

/** A frame's header: sync, layer III, and neither a bit rate nor a sample rate that there isn't. */
function isMp3Frame([sync = 0, kind = 0, rates = 0]: Uint8Array): boolean {
  const isLayer3 =
    sync === 0xff && (kind & 0xe0) === 0xe0 && (kind & 0x18) !== 0x08 && (kind & 0x06) === 0x02;
  const bitRate = rates >> 4;
  return isLayer3 && bitRate !== 0 && bitRate !== 0xf && (rates & 0x0c) !== 0x0c;
}
