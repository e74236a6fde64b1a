/** What stands in place of a secret. */
export const REMOVED = '[removed]';
/** Shorter texts are in any answer by chance. */
const SHORTEST_SECRET = 4;
const SHORTEST_COOKIE = 8;
/** In bytes that are no text. */
const SHORTEST_IN_BYTES = 8;
/** Characters that one character of a secret becomes, at most: a number with zeros before it in HTML. */
const LONGEST_FORM = 16;

/** Names of headers whose values are secrets: `Authorization`, no author; `API_KEY`, no Keycloak. */
const SECRET_HEADER =
  /auth(?!or(?!i[sz]))|key(?!cloak|board|word|space)|token|secret|cookie|session|signature|passw|passphrase|credential|(?:^|[_-])pa(?:t|ss)(?:[_-]|$)|[_-]pwd(?:[_-]|$)/i;

/** `AUTH_TYPE`, `TOKEN_URL`: what is only said about a secret. `primary_key`: keys that open nothing. */
const NO_SECRET =
  /(?:(?:auth|key|token|session|cookie)s?[_-]?(?:type|mode|method|ur[il]|host|port|path|file|dir)|(?:primary|foreign|partition|sort|public)[_-]?key)$/i;

/** The values among an app's own headers that must not be told. */
export function secretsInHeaders(headers: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (!isNameOfSecret(name)) return [];
    return /cookie/i.test(name)
      ? [value, ...value.split(';').map(valueOfCookie).filter(isLongCookie)]
      : partsOfSecret(value);
  });
}

/** A shorter one is a setting: a language, a size of pages. */
function isLongCookie({ length }: string): boolean {
  return length >= SHORTEST_COOKIE;
}

function valueOfCookie(pair: string): string {
  return pair.slice(pair.indexOf('=') + 1).trim();
}

/**
 * A secret, and its parts: a server may tell the part after `Bearer` alone, or the password of `Basic`. The name of a user is no secret:
 * it stands in many answers.
 */
export function partsOfSecret(secret: string): string[] {
  const [scheme = '', ...words] = secret.trim().split(/ +/);
  const rest = words.join(' ');
  if (scheme.toLowerCase() !== 'basic') return [secret, rest, words.at(-1) ?? ''];
  const pair = Buffer.from(rest, 'base64').toString();
  return [secret, rest, pair, pair.slice(pair.indexOf(':') + 1)];
}

/** Whether a name is one of secrets: of a header, or of an argument of a program. */
export function isNameOfSecret(name: string): boolean {
  return SECRET_HEADER.test(name) && !NO_SECRET.test(name);
}

/** A text without secrets: as they are, and as JSON, addresses and HTML of other programs write them. */
export function withoutSecretsIn(text: string, secrets: readonly string[]): string {
  return replaced(text, patternsOf(secrets, SHORTEST_SECRET));
}

/** Bytes of any kind without secrets. The same ones where they have none. */
export function withoutSecretsInBytes(bytes: Buffer, secrets: readonly string[]): Buffer {
  const text = bytes.toString('latin1');
  const told = replaced(text, patternsOf(secrets, SHORTEST_IN_BYTES, true));
  return told === text ? bytes : Buffer.from(told, 'latin1');
}

/** Parsed JSON without secrets, whichever way they were escaped. It is changed. */
export function withoutSecretsInJson(value: unknown, secrets: readonly string[]): unknown {
  const patterns = patternsOf(secrets, SHORTEST_SECRET);
  if (patterns.length === 0) return value;
  const numbers = new Set(
    secrets.filter((each) => each.length >= SHORTEST_SECRET && !Number.isNaN(Number(each))),
  );
  const clean = (member: unknown): unknown => {
    if (typeof member === 'string') return replaced(member, patterns);
    return typeof member === 'number' && numbers.size > 0 && numbers.has(String(member)) ? REMOVED : member;
  };
  const root = { value };
  // It may be nested deeper than the stack is.
  const rest: object[] = [root];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (Array.isArray(next)) {
      for (let index = 0; index < next.length; index += 1) {
        const told = clean(next[index]);
        next[index] = told;
        if (typeof told === 'object' && told !== null) rest.push(told);
      }
      continue;
    }
    for (const key of Object.keys(next)) {
      const member: unknown = Reflect.get(next, key);
      const name = next === root ? key : replaced(key, patterns);
      const told = clean(member);
      if (name !== key) Reflect.deleteProperty(next, key);
      if (name !== key || told !== member) {
        Object.defineProperty(next, name, {
          value: told,
          configurable: true,
          enumerable: true,
          writable: true,
        });
      }
      if (typeof told === 'object' && told !== null) rest.push(told);
    }
  }
  return root.value;
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
  const shortest = isText ? SHORTEST_SECRET : SHORTEST_IN_BYTES;
  const patterns = patternsOf(secrets, shortest, true);
  if (patterns.length === 0) {
    yield* chunks;
    return;
  }
  const longest = Math.max(...secrets.map(({ length }) => length)) * LONGEST_FORM;
  let held = '';
  for await (const chunk of chunks) {
    // Bytes as characters: a chunk may end within one of UTF-8.
    held = replaced(held + chunk.toString('latin1'), patterns);
    const told = held.slice(0, Math.max(held.length - longest + 1, 0));
    held = held.slice(told.length);
    if (told !== '') yield Buffer.from(told, 'latin1');
  }
  if (held !== '') yield Buffer.from(held, 'latin1');
}

function replaced(text: string, patterns: readonly RegExp[]): string {
  return patterns.reduce((clean, pattern) => clean.replace(pattern, REMOVED), text);
}

const compiled = new WeakMap<readonly string[], Map<string, readonly RegExp[]>>();

/** Patterns for each secret, longer ones first: one may be a part of another one. Those of a list are made once. */
function patternsOf(secrets: readonly string[], shortest: number, ofBytes = false): readonly RegExp[] {
  const ofList = compiled.get(secrets) ?? new Map<string, readonly RegExp[]>();
  compiled.set(secrets, ofList);
  const kind = `${shortest} ${ofBytes}`;
  const known = ofList.get(kind) ?? compiledPatterns(secrets, shortest, ofBytes);
  ofList.set(kind, known);
  return known;
}

function compiledPatterns(secrets: readonly string[], shortest: number, ofBytes: boolean): RegExp[] {
  const known = [...new Set(secrets)].filter(({ length }) => length >= shortest);
  return known
    .sort((one, other) => other.length - one.length)
    .map((secret) => {
      const raw = ofBytes ? Buffer.from(secret).toString('latin1') : secret;
      const forms = [...secret].map((character) => formsOf(character, ofBytes)).join('');
      return new RegExp(`${escaped(raw)}|${forms}`, 'g');
    });
}

/** A character as a pattern. No two of its forms fit the same text, so that a search takes no longer than one for a text. */
function formsOf(character: string, ofBytes: boolean): string {
  // No program escapes these.
  if (/[A-Za-z0-9._~-]/.test(character)) return escaped(character);
  const bytes = Buffer.from(character);
  const raw = ofBytes ? bytes.toString('latin1') : character;
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  const code = character.codePointAt(0) ?? 0;
  const forms = [
    units.map((unit) => `\\\\u${anyCase(unit.toString(16).padStart(4, '0'))}`).join(''),
    [...bytes].map((byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`).join(''),
    `&#(?:0{0,6}${code}|[xX]0{0,6}${anyCase(code.toString(16))});`,
    ...(IN_JSON[character] ?? []),
    ...(IN_HTML[character] ?? []),
    ...(character === ' ' ? ['\\+'] : []),
  ];
  const other = forms.join('|');
  // Their forms begin like them.
  const own = '\\%&'.includes(character) ? `(?!${other})${escaped(raw)}` : escaped(raw);
  return `(?:${other}|${own})`;
}

const IN_JSON: Readonly<Record<string, string[]>> = {
  '/': ['\\\\/'],
  '"': ['\\\\"'],
  '\\': ['\\\\\\\\'],
  '\t': ['\\\\t'],
  '\n': ['\\\\n'],
  '\r': ['\\\\r'],
};

const IN_HTML: Readonly<Record<string, string[]>> = {
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;'],
  '"': ['&quot;'],
  "'": ['&apos;'],
};

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
