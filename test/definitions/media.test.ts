import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { isMedia, Media, type MediaResult, mediaOf, ResponseWithMedia } from '../../src/tools/media.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { contextWith } from './tool-context.ts';

const MIB = 1024 * 1024;
const bytesOf = (text: string) => Buffer.from(text);
const png = (data: Uint8Array, more = {}) => new Media({ mimeType: 'image/png', data, ...more });

describe('media as a result [tool.media]', () => {
  test('bytes, media and lists become a response and parts behind it', () => {
    expect(mediaOf(Buffer.from('abc'))).toEqual({
      response: { media: [{ mimeType: 'text/plain', bytes: 3 }] },
      parts: [{ inlineData: { mimeType: 'text/plain', data: 'YWJj' } }],
      trusted: false,
    });
    const chart = png(Buffer.from('chart'), { name: 'chart.png', trustTier: 'ours' });
    const sound = new Media({ mimeType: 'audio/wav; rate=16000', data: new Uint8Array([0]) });
    expect(mediaOf([chart, sound])).toEqual({
      response: {
        media: [
          { mimeType: 'image/png', bytes: 5, name: 'chart.png', trustTier: 'ours' },
          { mimeType: 'audio/wav; rate=16000', bytes: 1 },
        ],
      },
      parts: [
        { inlineData: { mimeType: 'image/png', data: 'Y2hhcnQ=' } },
        { inlineData: { mimeType: 'audio/wav; rate=16000', data: 'AA==' } },
      ],
      trusted: false,
    });
    expect(mediaOf(chart)).toMatchObject({ parts: [{}], trusted: true });
  });

  test('every byte survives, of views into larger buffers too', async () => {
    await fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), fc.nat(8), (bytes, offset) => {
        const larger = new Uint8Array(bytes.length + offset);
        larger.set(bytes, offset);
        const [part] = mediaOf(png(larger.subarray(offset)))?.parts ?? [];
        expect(new Uint8Array(Buffer.from(part?.inlineData?.data ?? '', 'base64'))).toEqual(bytes);
      }),
    );
  });

  test.each([
    [undefined],
    [null],
    ['text'],
    [7],
    [[]],
    [{}],
    [[1, 2]],
    [{ media: [] }],
    [new Uint16Array([1])],
  ])('%j is no media', (value) => {
    expect(mediaOf(value)).toBeUndefined();
  });

  test('media in other values are refused, and never spelled out byte by byte', () => {
    expect(() => toFunctionResponse({ report: png(new Uint8Array([1])) })).toThrow(
      "the result can't be sent as JSON at report.data: JSON has no binary data",
    );
    expect(() => toFunctionResponse({ report: Buffer.from('abc') })).toThrow(
      "the result can't be sent as JSON at report: JSON has no binary data",
    );
    expect(() => mediaOf([png(new Uint8Array([1])), 'caption'])).toThrow(
      "the result's [1]: expected media like the others, got string",
    );
  });

  test('what a view shows of shared memory is sent', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(4)).fill(65).subarray(1, 3);
    expect(mediaOf(shared)?.parts).toEqual([{ inlineData: { mimeType: 'text/plain', data: 'QUE=' } }]);
  });

  test('10 MiB in sum are sent, a byte more is not', () => {
    const half = png(new Uint8Array(5 * MIB));
    expect(mediaOf([half, half])?.parts).toHaveLength(2);
    expect(() => mediaOf([half, half, png(new Uint8Array(1))])).toThrow(InvalidResultError);
    expect(() => mediaOf(new Uint8Array(10 * MIB + 1))).toThrow(
      'the result has 10485761 bytes of media, at most 10485760 can be sent; save it by context.saveArtifact instead',
    );
  });

  test('no bytes at all are refused, because the provider refuses them', () => {
    expect(() => mediaOf(new Uint8Array())).toThrow(
      'the result is media without a byte, which no model takes',
    );
  });

  test('the output schema does not look at them', async () => {
    const draw = tool({
      name: 'draw',
      description: '',
      outputSchema: z.object({ url: z.string() }),
      execute: async () => [png(new Uint8Array([1]))],
    });
    const result = await draw.runAsync({ args: {}, toolContext: contextWith() });
    expect(mediaOf(result)?.parts).toHaveLength(1);
  });
});

describe('data that says nothing of itself [tool.media]', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  const typeOf = (data: Uint8Array) => {
    const { response, parts } = mediaOf(data) as MediaResult;
    const [piece] = response.media as [{ mimeType: string; omitted?: true }];
    expect(parts.map(({ inlineData }) => inlineData?.mimeType)).toEqual(
      piece.omitted ? [] : [piece.mimeType],
    );
    return [piece.mimeType, piece.omitted === true];
  };

  test.each<[string, Uint8Array]>([
    ['image/png', bytes('\x89PNG\r\n\x1a\n\0\0')],
    ['image/jpeg', bytes('\xff\xd8\xff\xe0\0')],
    ['image/webp', bytes('RIFF\x24\0\0\0WEBPVP8 ')],
    ['audio/wav', bytes('RIFF\x24\0\0\0WAVEfmt ')],
    ['audio/mp3', bytes('ID3\x04\0')],
    ['audio/mp3', bytes('\xff\xfb\x90\x00')],
    ['application/pdf', bytes('%PDF-1.7\n\xe2\xe3')],
    ['text/plain', Buffer.from('grüß euch')],
    ['text/plain', Buffer.from('<svg/>')],
  ])('is %s by how it begins, which models read', (type, data) => {
    expect(typeOf(data)).toEqual([type, false]);
  });

  test.each<[string, string, Uint8Array]>([
    ['a GIF, which Gemini refuses', 'image/gif', bytes('GIF89a\x01\0')],
    ['an archive', 'application/octet-stream', bytes('PK\x03\x04\x14\0')],
    ['text that is no UTF-8', 'application/octet-stream', bytes('gr\xfc\xdf')],
    ['UTF-16', 'application/octet-stream', bytes('\xff\xfea\0b\0')],
    ['AAC', 'application/octet-stream', bytes('\xff\xf1\x50\x80')],
    ['a video', 'application/octet-stream', bytes('RIFF\x24\0\0\0AVI LIST')],
    ['NUL characters', 'application/octet-stream', new Uint8Array(3)],
  ])('is omitted where it is %s: the response says so', (_, type, data) => {
    expect(typeOf(data)).toEqual([type, true]);
  });

  test('whoever calls it application/octet-stream says nothing of it either', () => {
    const named = (data: Uint8Array) =>
      new Media({ mimeType: 'Application/Octet-Stream; x=1', data, name: 'a.bin' });
    expect(mediaOf([named(bytes('PK\x03\x04\0')), named(Buffer.from('hi'))])).toEqual({
      response: {
        media: [
          { mimeType: 'application/octet-stream', bytes: 5, omitted: true, name: 'a.bin' },
          { mimeType: 'text/plain', bytes: 2, name: 'a.bin' },
        ],
      },
      parts: [{ inlineData: { mimeType: 'text/plain', data: 'aGk=' } }],
      omitted: [{ inlineData: { mimeType: 'application/octet-stream', data: 'UEsDBAA=' } }],
      trusted: false,
    });
  });

  test('is told beside a response, which is left as it is where all is sent', () => {
    const plain = (data: Uint8Array) => new Media({ mimeType: 'application/octet-stream', data });
    const gif = bytes('GIF89a\x01\0');
    const beside = (...media: Media[]) => mediaOf(new ResponseWithMedia({ output: 'x' }, media));
    const left = [{ mimeType: 'image/gif', bytes: gif.length, omitted: true }];
    expect(beside(plain(gif), plain(Buffer.from('hi')))?.response).toEqual({ output: 'x', media: left });
    expect(beside(plain(Buffer.from('hi')))?.response).toEqual({ output: 'x' });
    expect(beside()).toEqual({ response: { output: 'x' }, parts: [] });
  });
});

describe('Media [tool.media]', () => {
  test('is known across copies of the package', () => {
    expect(isMedia({ [Symbol.for('holdfast.media')]: true })).toBe(true);
    expect([null, {}, new Uint8Array(1)].some(isMedia)).toBe(false);
  });

  test('of another copy is checked like our own', () => {
    const foreign = (fields: object) => mediaOf({ [Symbol.for('holdfast.media')]: true, ...fields });
    expect(() => foreign({})).toThrow("Media: mimeType: expected a type like 'image/png', got undefined");
    expect(() => foreign({ mimeType: 'image/png' })).toThrow('Media: data: expected a Uint8Array');
    expect(foreign({ mimeType: 'image/png', data: bytesOf('a') })?.parts).toHaveLength(1);
  });

  test('of nothing is refused by name', () => {
    expect(() => new Media(undefined as never)).toThrow(
      'Media: expected an object with mimeType and data, got undefined',
    );
  });

  test.each<[object, string]>([
    [{ mimeType: 'png' }, "Media: mimeType: expected a type like 'image/png', got other text"],
    [{ mimeType: 5 }, "Media: mimeType: expected a type like 'image/png', got number"],
    [{ data: 'AQID' }, "Media: data: expected a Uint8Array, got string; give Buffer.from(text, 'base64')"],
    [{ data: [1, 2] }, 'Media: data: expected a Uint8Array, got array'],
    [{ name: '' }, "Media: name: expected a text that isn't empty, got ''"],
    [{ trustTier: 1 }, "Media: trustTier: expected a text that isn't empty, got number"],
  ])('refuses %j', (params, message) => {
    const good = { mimeType: 'image/png', data: new Uint8Array([1]) };
    expect(() => new Media({ ...good, ...params } as never)).toThrow(
      expect.objectContaining({ message, code: 'HOLDFAST_INVALID_RESULT', retryable: false }),
    );
  });
});
