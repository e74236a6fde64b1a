import { InvalidArtifactName } from './artifact-errors.ts';

/** Bytes of UTF-8 that a name may have: as many as keys of object stores. */
const MOST_NAME_BYTES = 1_024;
const LONGEST_SHOWN = 80;

/** Names that begin so are the user's in all sessions of the app, as in ADK. */
export const USER_PREFIX = 'user:';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones that no name may have.
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * A name is text of 1 to 1,024 bytes without control characters. It may have slashes, but no part of it is empty, `.` or `..`, so that
 * programs can write artifacts into folders.
 *
 * @throws InvalidArtifactName
 */
export function checkArtifactName(name: unknown): asserts name is string {
  const problem = problemOf(name);
  if (problem === undefined) return;
  const shown =
    typeof name === 'string' ? ` ${JSON.stringify(name.slice(0, LONGEST_SHOWN).toWellFormed())}` : '';
  throw new InvalidArtifactName(
    `the artifact's name${shown} ${problem}; use a name such as "report.pdf" or "user:photo.png"`,
  );
}

function problemOf(name: unknown): string | undefined {
  if (typeof name !== 'string') return `is ${name === null ? 'null' : `of type ${typeof name}`}, and no text`;
  const path = name.startsWith(USER_PREFIX) ? name.slice(USER_PREFIX.length) : name;
  if (path === '') return 'is empty';
  if (!name.isWellFormed()) return 'has half of a surrogate pair';
  if (CONTROL.test(name)) return 'has a control character';
  const bytes = Buffer.byteLength(name);
  if (bytes > MOST_NAME_BYTES) return `has ${bytes} bytes; at most ${MOST_NAME_BYTES} are allowed`;
  const wrong = path.split(/[/\\]/).find((part) => part === '' || part === '.' || part === '..');
  return wrong === undefined ? undefined : `has the part ${JSON.stringify(wrong)}, which no folder takes`;
}
