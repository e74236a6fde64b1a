const LONGEST = 4_000;

/**
 * What to tell of anything that was thrown: an error's message, a string, or what kind of thing it was.
 *
 * @returns at most 4,000 characters.
 */
export function thrownMessage(thrown: unknown): string {
  const message = messageOf(thrown).toWellFormed();
  return message.length <= LONGEST ? message : `${message.slice(0, LONGEST).toWellFormed()}…`;
}

function messageOf(thrown: unknown): string {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return String(thrown);
  const messages = new Set(innerErrors(thrown).map(messageOf));
  if (messages.size > 0 && textOf(thrown, 'message') === undefined) return [...messages].join('; ');
  // Other fields may hold anything, secrets too.
  return textOf(thrown, 'message') ?? textOf(thrown, 'name') ?? kindOfObject(thrown);
}

/** Those of an `AggregateError`. */
function innerErrors(thrown: object): unknown[] {
  const errors = read(thrown, 'errors');
  return Array.isArray(errors)
    ? errors.slice(0, 5).filter((inner) => typeof read(Object(inner), 'errors') !== 'object')
    : [];
}

function textOf(thrown: object, field: string): string | undefined {
  const value = read(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function kindOfObject(thrown: object): string {
  const maker = read(thrown, 'constructor');
  const name = typeof maker === 'function' ? textOf(maker, 'name') : undefined;
  return name === undefined || name === 'Object'
    ? `${typeof thrown} without a message`
    : `${name} without a message`;
}

function read(thrown: object, field: string): unknown {
  try {
    return (thrown as Record<string, unknown>)[field];
  } catch {
    // A getter that throws hides its field and nothing more.
    return undefined;
  }
}
