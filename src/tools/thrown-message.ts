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
  if (thrown instanceof AggregateError && textOf(thrown, 'message') === undefined) {
    const messages = new Set(listOf(thrown).map(messageOf));
    if (messages.size > 0) return [...messages].join('; ');
  }
  // Other fields may hold anything, secrets too.
  return textOf(thrown, 'message') ?? textOf(thrown, 'name') ?? kindOfObject(thrown);
}

function listOf(error: AggregateError): unknown[] {
  const errors = read(error, 'errors');
  return Array.isArray(errors) ? errors.slice(0, 5).filter((inner) => inner !== error) : [];
}

function textOf(thrown: object, field: string): string | undefined {
  const value = read(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function kindOfObject(thrown: object): string {
  const constructor = read(thrown, 'constructor');
  const name = typeof constructor === 'function' ? textOf(constructor, 'name') : undefined;
  return name === undefined || name === 'Object' ? `${typeof thrown} without a message` : `${name} without a message`;
}

function read(thrown: object, field: string): unknown {
  try {
    return (thrown as Record<string, unknown>)[field];
  } catch {
    // A getter that throws hides its field and nothing more.
    return undefined;
  }
}
