/** No JSON makes a value with it, so nobody who can only write to Temporal makes one. */
const MARK = Symbol.for('holdfast.undecodable');

/** A payload that this worker can't decode. It takes the payload's place, so that nothing throws before a handler can refuse it. */
export interface Undecodable {
  readonly [MARK]: true;
  /** The encoding that its metadata name, if any: some letters of ASCII. */
  readonly encoding: string | undefined;
}

export function undecodable(encoding: string | undefined): Undecodable {
  return { [MARK]: true, encoding };
}

export function isUndecodable(value: unknown): value is Undecodable {
  return typeof value === 'object' && value !== null && MARK in value;
}

/** The payload's problem, and the remedy. */
export function undecodableText({ encoding }: Undecodable): string {
  if (encoding === undefined) return 'a payload without an encoding: send JSON, as Temporal’s SDKs encode it';
  if (encoding.startsWith('json/') && encoding !== 'json/protobuf') {
    return `a payload of the encoding ${encoding} that is no JSON: send JSON, as Temporal’s SDKs encode it`;
  }
  return (
    `a payload of the encoding ${encoding}, which this worker can’t decode: give worker and clients the same payload codec, ` +
    'or send JSON'
  );
}
