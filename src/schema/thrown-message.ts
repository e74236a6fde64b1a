import { excerpt } from '../protocol/visible-text.ts';

const LONGEST = 4_000;

/**
 * A text for any thrown value: an error's message, a string, or the kind of the value.
 *
 * @returns at most 4,000 characters.
 */
export function thrownMessage(thrown: unknown): string {
  const message = anyMessage(thrown).toWellFormed();
  return excerpt(message, LONGEST);
}

function anyMessage(thrown: unknown): string {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return String(thrown);
  const messages = new Set(innerErrors(thrown).map(anyMessage));
  if (messages.size > 0 && textField(thrown, 'message') === undefined) return [...messages].join('; ');
  // Other fields may hold anything, secrets too.
  return textField(thrown, 'message') ?? textField(thrown, 'name') ?? kindOfObject(thrown);
}

/** Those of an `AggregateError`. */
function innerErrors(thrown: object): unknown[] {
  const errors = thrownField(thrown, 'errors');
  return Array.isArray(errors)
    ? errors.slice(0, 5).filter((inner) => typeof thrownField(Object(inner), 'errors') !== 'object')
    : [];
}

function textField(thrown: object, field: string): string | undefined {
  const value = thrownField(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function kindOfObject(thrown: object): string {
  const maker = thrownField(thrown, 'constructor');
  const name = typeof maker === 'function' ? textField(maker, 'name') : undefined;
  return name === undefined || name === 'Object'
    ? `${typeof thrown} without a message`
    : `${name} without a message`;
}

/** A field of a thrown value; undefined where its getter throws. */
export function thrownField(thrown: unknown, field: string): unknown {
  try {
    return (thrown as Record<string, unknown> | null | undefined)?.[field];
  } catch {
    // A getter that throws hides its field and nothing more.
    return undefined;
  }
}

const DEEPEST_CAUSE = 8;

/** A thrown value, and its causes. */
export function causesOf(thrown: unknown): unknown[] {
  const causes = [thrown];
  while (causes.length < DEEPEST_CAUSE) {
    const cause = thrownField(causes.at(-1), 'cause');
    if (cause === undefined) break;
    causes.push(cause);
  }
  return causes;
}
