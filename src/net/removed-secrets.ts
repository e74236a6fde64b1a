/** What stands in place of a secret. */
export const REMOVED = '[removed]';
/** Shorter texts are in any answer by chance. */
const SHORTEST_SECRET = 4;
const SHORTEST_IN_BYTES = 8;

/** Whether a name is one of secrets: of a header, a variable, a field of a query, an option of a program. */
export function isNameOfSecret(name: string): boolean {
  return /authorization|token|secret|passw|credential|cookie|key$/i.test(name);
}

/** The values among an app's own headers that must not be told. */
export function secretsInHeaders(headers: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    isNameOfSecret(name) ? partsOfSecret(value) : [],
  );
}

/** A secret, what follows its scheme (`Bearer …`), and the password of `Basic`. A user's name is none: it stands in many answers. */
export function partsOfSecret(secret: string): string[] {
  const [scheme = '', ...words] = secret.trim().split(' ');
  const rest = words.join(' ').trim();
  if (scheme.toLowerCase() !== 'basic') return [secret, rest];
  const pair = Buffer.from(rest, 'base64').toString();
  return [secret, rest, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** A text without secrets in three forms: as they are, as JSON writes them, and as a component of an address. */
export function withoutSecretsIn(text: string, secrets: readonly string[]): string {
  return replaced(text, formsOf(secrets, SHORTEST_SECRET));
}

/** Parsed JSON without secrets in its names and texts. It is changed. */
export function withoutSecretsInJson(value: unknown, secrets: readonly string[]): unknown {
  const forms = formsOf(secrets, SHORTEST_SECRET);
  if (forms.length === 0) return value;
  const root = [value];
  // It may be nested deeper than the stack is.
  const rest: object[] = [root];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const key of Array.isArray(next) ? next.keys() : Object.keys(next)) {
      const member: unknown = Reflect.get(next, key);
      const name = typeof key === 'string' ? replaced(key, forms) : key;
      const told = typeof member === 'string' ? replaced(member, forms) : member;
      if (name !== key) Reflect.deleteProperty(next, key);
      if (name !== key || told !== member) Reflect.set(next, name, told);
      if (typeof told === 'object' && told !== null) rest.push(told);
    }
  }
  return root[0];
}

/**
 * Chunks without secrets: one may be cut by chunks, so as much as one has is held back.
 *
 * @param isText bytes of another kind have short secrets by chance.
 */
export async function* withoutSecretsInStream(
  chunks: AsyncIterable<Buffer>,
  secrets: readonly string[],
  isText: boolean,
): AsyncGenerator<Buffer> {
  // Bytes as characters: a chunk may end within one of UTF-8.
  const forms = formsOf(secrets, isText ? SHORTEST_SECRET : SHORTEST_IN_BYTES).map((form) =>
    Buffer.from(form).toString('latin1'),
  );
  if (forms.length === 0) return yield* chunks;
  const longest = Math.max(...forms.map(({ length }) => length));
  let held = '';
  for await (const chunk of chunks) {
    held = replaced(held + chunk.toString('latin1'), forms);
    const told = held.slice(0, Math.max(held.length - longest + 1, 0));
    held = held.slice(told.length);
    if (told !== '') yield Buffer.from(told, 'latin1');
  }
  if (held !== '') yield Buffer.from(held, 'latin1');
}

function replaced(text: string, forms: readonly string[]): string {
  return forms.reduce((clean, form) => clean.replaceAll(form, REMOVED), text);
}

/** Longer ones first: one may be a part of another one. */
function formsOf(secrets: readonly string[], shortest: number): string[] {
  const forms = secrets
    .filter(({ length }) => length >= shortest)
    .flatMap((each) => [each, JSON.stringify(each).slice(1, -1), encodeURIComponent(each.toWellFormed())]);
  return [...new Set(forms)].sort((one, other) => other.length - one.length);
}
