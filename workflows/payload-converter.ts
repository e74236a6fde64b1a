import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import { undecodable } from '../src/contract/undecodable.ts';

/** Bytes of an encoding's name that are told of. */
const LONGEST_ENCODING = 60;

/**
 * Temporal's own, but for payloads that it can't decode. An exception of `fromPayload` for a signal would fail the workflow task again
 * and again, before any handler is asked.
 *
 * @public Temporal's worker takes this export from the bundle.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: defaultPayloadConverter.toPayload.bind(defaultPayloadConverter),
  fromPayload<T>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<T>): T {
    const { [AHEAD]: ahead } = payload as LookedAt;
    if (ahead !== undefined) return ahead.value as T;
    try {
      return defaultPayloadConverter.fromPayload(payload, context, hint);
    } catch {
      return undecodable(encodingOf(payload)) as T;
    }
  },
};

const AHEAD = Symbol('value');

/** A payload with its value, which Temporal gets when it asks for it: each is decoded once. */
interface LookedAt extends Payload {
  [AHEAD]?: { value: unknown };
}

/** The payload as Temporal gets it. */
export function lookAhead(payload: LookedAt): unknown {
  const value = payloadConverter.fromPayload(payload);
  payload[AHEAD] = { value };
  return value;
}

function encodingOf({ metadata }: Payload): string | undefined {
  const encoding = metadata?.encoding;
  const name = encoding === undefined || encoding === null ? '' : printableText(encoding);
  return name === '' ? undefined : name;
}

/** Any bytes may stand there, of which letters of ASCII are kept; a field without a value comes as an array. */
function printableText(bytes: ArrayLike<number>): string {
  return Array.from(bytes)
    .slice(0, LONGEST_ENCODING)
    .map((byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ''))
    .join('');
}
