import { variable } from '../environment.ts';

const REDACTED = '[redacted]';
/** Shorter values are words that a message may need, and no keys. */
const SHORTEST_SECRET = 8;
const KEY_VARIABLES = ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY'];

const SECRET_SHAPES: Array<[RegExp, string]> = [
  [/([?&](?:key|api_?key|access_token|token)=)[^&\s"'\\]+/gi, `$1${REDACTED}`],
  [/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@"']+@/gi, `$1${REDACTED}@`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${REDACTED}`],
  [/\bAIza[\w-]{20,}/g, REDACTED],
  [/\bya29\.[\w.-]+/g, REDACTED],
];

/**
 * Removes keys from a text that people or logs will see: the given values, those of the key variables of the
 * environment, and whatever looks like a key, a token or a password in a URL.
 *
 * @param secrets values to remove wherever they stand, also JSON- or URL-encoded.
 */
export function redactSecrets(text: string, secrets: readonly string[] = []): string {
  const environment = KEY_VARIABLES.map((name) => variable(name)?.trim() ?? '');
  const values = [...secrets, ...environment].filter((value) => value.length >= SHORTEST_SECRET);
  const forms = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1), urlEncoded(value)]);
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  const withoutValues = longestFirst.reduce((rest, value) => rest.replaceAll(value, REDACTED), text);
  return SECRET_SHAPES.reduce(
    (rest, [shape, replacement]) => rest.replace(shape, replacement),
    withoutValues,
  );
}

function urlEncoded(value: string): string {
  return value.isWellFormed() ? encodeURIComponent(value) : value;
}
