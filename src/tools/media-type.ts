import { isUtf8 } from 'node:buffer';

/** The type of data that doesn't name its type. */
export const UNKNOWN_TYPE = 'application/octet-stream';

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
export function typeOfData(data: Uint8Array): string {
  const start = Buffer.from(data.subarray(0, 12)).toString('latin1');
  const known = SIGNATURES.find(
    ([, signature, at8 = '']) => start.startsWith(signature) && start.startsWith(at8, 8),
  );
  if (known !== undefined) return known[0];
  if (isMp3Frame(data)) return 'audio/mp3';
  return isUtf8(data) && !data.includes(0) ? 'text/plain' : UNKNOWN_TYPE;
}

/** Whether data of a type that was told from it is sent to models. */
export function isReadByModels(type: string): boolean {
  return READ.has(type);
}

/** A frame's header: sync, layer III, and neither a bit rate nor a sample rate that there isn't. */
function isMp3Frame([sync = 0, kind = 0, rates = 0]: Uint8Array): boolean {
  const isLayer3 =
    sync === 0xff && (kind & 0xe0) === 0xe0 && (kind & 0x18) !== 0x08 && (kind & 0x06) === 0x02;
  const bitRate = rates >> 4;
  return isLayer3 && bitRate !== 0 && bitRate !== 0xf && (rates & 0x0c) !== 0x0c;
}
