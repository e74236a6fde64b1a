import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ClientMessage, MessageBuffer } from '../../src/store/engine/wire-messages.ts';

const STARTUP = message(undefined, Buffer.from([0, 3, 0, 0, ...Buffer.from('user\0postgres\0\0')]));
const SSL = message(undefined, Buffer.from([0x04, 0xd2, 0x16, 0x2f]));

function message(type: string | undefined, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(type ?? ''), length, body]);
}

function feed(chunks: readonly Buffer[]): ClientMessage[] {
  const buffer = new MessageBuffer();
  return chunks.flatMap((chunk) => buffer.add(chunk));
}

test('however the bytes are cut, the same work comes out, whole up to each Sync', () => {
  const body = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  const statement = fc.array(fc.tuple(fc.constantFrom('P', 'B', 'D', 'E', 'C'), body), { maxLength: 4 });
  fc.assert(
    fc.property(fc.array(statement, { maxLength: 5 }), fc.boolean(), fc.array(fc.nat()), (all, ssl, cuts) => {
      const works = all.map((messages) =>
        Buffer.concat([
          ...messages.map(([type, bytes]) => message(type, bytes)),
          message('S', Buffer.alloc(0)),
        ]),
      );
      const sent = Buffer.concat([...(ssl ? [SSL] : []), STARTUP, ...works, message('X', Buffer.alloc(0))]);
      const places = [0, ...cuts.map((cut) => cut % sent.length), sent.length].sort((a, b) => a - b);
      const chunks = places.slice(1).map((place, index) => sent.subarray(places[index], place));
      const work = (bytes: Buffer) => ({ type: 'work', bytes: new Uint8Array(bytes) });
      expect(feed(chunks)).toEqual([
        ...(ssl ? [{ type: 'ssl request' }] : []),
        work(STARTUP),
        ...works.map(work),
        { type: 'terminate' },
      ]);
    }),
  );
});

test('a request to cancel ends its connection', () => {
  expect(feed([message(undefined, Buffer.from([0x04, 0xd2, 0x16, 0x2e, 0, 0, 0, 1, 0, 0, 0, 2]))])).toEqual([
    { type: 'terminate' },
  ]);
});

test('a message of an impossible length ends its connection, whatever comes after it', () => {
  const ofLength = (length: number) =>
    Buffer.from([0x50, ...new Uint8Array(new Int32Array([length]).buffer).reverse()]);
  for (const length of [-1, 0, 3, -(2 ** 31)]) {
    const work = { type: 'work', bytes: new Uint8Array(STARTUP) };
    expect(feed([STARTUP, ofLength(length), STARTUP])).toEqual([work, { type: 'terminate' }]);
    expect(feed([Buffer.concat([ofLength(length).subarray(1), Buffer.alloc(4)]), STARTUP])).toEqual([
      { type: 'terminate' },
    ]);
  }
});
